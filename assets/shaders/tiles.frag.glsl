#version 330 core
// One pixel a tile of the picture: whether any matter or shadow falls on it. A tile is TILE relief
// pixels wide; those just around it are blended into its margin, so they count too.
uniform sampler2D relief;
uniform ivec2 last;            // the last pixel in use
uniform vec2 texel;            // 1 / size of the texture
out vec4 occupied;

const int TILE = 8;

void main() {
    ivec2 corner = ivec2(gl_FragCoord.xy) * TILE;
    ivec2 from = max(corner - 1, 0);
    ivec2 to = min(corner + TILE, last);
    float most = 0.0;
    for (int y = from.y; y <= to.y; y += 2) {
        for (int x = from.x; x <= to.x; x += 2) {
            // Between four pixels: their mean is positive if one of them is.
            vec4 here = texture(relief, vec2(x + 1, y + 1) * texel);
            most = max(most, here.r + here.a);
        }
    }
    occupied = vec4(most);
}
