#version 330 core
// Every particle as a soft disc, added into the lane of its material. Eight lanes, one a material,
// so that the border between two materials can be found afterwards as the line where they are equal.
layout(location = 0) in vec2 position;
layout(location = 1) in uint bits;

uniform vec2 center;          // of the view [m]
uniform vec2 clip_per_meter;
uniform float radius;         // of the disc [px of the target]
uniform float weight;         // at its middle
uniform int first_material;   // the material of lane 0
uniform int by_value;         // 1: lane 0 holds the weight, lane 1 the weighted value

flat out vec4 lane_low;
flat out vec4 lane_high;

void main() {
    int material = int(bits & 255u);
    int lane = by_value == 1 ? 0 : material - first_material;
    lane_low = vec4(0.0);
    lane_high = vec4(0.0);
    gl_PointSize = 2.0 * radius;
    if (material == 255 || lane < 0 || lane > 7) {
        gl_Position = vec4(0.0, 0.0, 2.0, 1.0);  // behind the far plane: never drawn
        return;
    }
    gl_Position = vec4((position - center) * clip_per_meter, 0.0, 1.0);
    if (by_value == 1) {
        float value = float((bits >> 8) & 65535u) / 65535.0;
        lane_low = weight * vec4(1.0, value, 0.0, 0.0);
    } else {
        lane_low = weight * vec4(equal(ivec4(lane), ivec4(0, 1, 2, 3)));
        lane_high = weight * vec4(equal(ivec4(lane), ivec4(4, 5, 6, 7)));
    }
}
