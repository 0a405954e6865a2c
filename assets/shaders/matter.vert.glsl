#version 330 core
// Two triangles a tile; those of empty tiles vanish, so that only where there is matter is paid for.
// All that is the same for the whole picture travels flat: software drivers read that faster, pixel
// by pixel, than uniforms.
uniform sampler2D tiles;
uniform int columns;
uniform vec2 pixels_per_tile;
uniform vec2 viewport;         // [px]
uniform vec2 lane_scale;       // from pixels to lane coordinates
uniform vec2 lane_offset;
uniform vec2 relief_scale;     // from pixels to relief coordinates
uniform mat4 skin_low;
uniform mat4 skin_high;
uniform vec4 shadow;
uniform float thin;
uniform float sharpness;
uniform float threshold;
uniform float lone;

out vec2 lane_at;
out vec2 relief_at;
flat out mat4 skins_low;
flat out mat4 skins_high;
flat out vec4 shade;
flat out vec4 settings;

void main() {
    int tile = gl_VertexID / 6;
    int corner = gl_VertexID % 6;
    ivec2 place = ivec2(tile % columns, tile / columns);
    ivec2 unit = ivec2(corner == 1 || corner == 2 || corner == 4, corner == 2 || corner > 3);
    vec2 pixel = vec2(place + unit) * pixels_per_tile;
    lane_at = pixel * lane_scale + lane_offset;
    relief_at = pixel * relief_scale;
    skins_low = skin_low;
    skins_high = skin_high;
    shade = shadow;
    settings = vec4(thin, sharpness, threshold, lone);
    bool empty = texelFetch(tiles, place, 0).r <= 0.0;
    gl_Position = vec4(2.0 * pixel / viewport - 1.0, empty ? 2.0 : 0.0, 1.0);
}
