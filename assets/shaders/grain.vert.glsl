#version 330 core
// Sand, grain by grain, over its density.
layout(location = 0) in vec2 position;
layout(location = 1) in uint bits;

uniform vec2 center;          // of the view [m]
uniform vec2 clip_per_meter;
uniform float radius;         // of a grain [px]
uniform float strength;       // opacity of a grain
uniform int first_material;
uniform vec3 palette[8];      // sRGB
uniform float granular[8];    // 1 for materials that are drawn grain by grain

flat out vec3 base;
flat out float grain;
flat out float size;

void main() {
    int material = int(bits & 255u);
    int lane = material - first_material;
    gl_PointSize = 1.0;
    if (material == 255 || lane < 0 || lane > 7 || granular[clamp(lane, 0, 7)] == 0.0) {
        gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
        return;
    }
    base = palette[lane];
    grain = float(bits >> 24) / 255.0;
    size = radius * (0.86 + 0.28 * fract(grain * 7.31));
    gl_PointSize = 2.0 * size + 1.0;
    gl_Position = vec4((position - center) * clip_per_meter, 0.0, 1.0);
}
