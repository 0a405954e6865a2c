#version 330 core
// One pixel a tile: whether any matter or shadow falls on it. Tiles are TILE relief pixels wide and
// look as far around themselves as the relief is blurred and the shadow is thrown.
uniform sampler2D source;      // the density, before it is blurred
uniform ivec2 last;            // the last pixel in use
uniform vec2 texel;            // 1 / size of the texture
uniform ivec2 shadow_offset;   // [relief px], rounded away from zero
out vec4 occupied;

const int TILE = 8;
const int BLUR = 3;

void main() {
    ivec2 corner = ivec2(gl_FragCoord.xy) * TILE;
    ivec2 from = max(corner - BLUR - max(shadow_offset, 0), 0);
    ivec2 to = min(corner + TILE + BLUR - min(shadow_offset, 0), last);
    float most = 0.0;
    for (int y = from.y; y <= to.y; y += 2) {
        for (int x = from.x; x <= to.x; x += 2) {
            // Between four pixels: their mean is positive if one of them is.
            most = max(most, texture(source, vec2(x + 1, y + 1) * texel).r);
        }
    }
    occupied = vec4(most);
}
