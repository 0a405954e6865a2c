#version 330 core
flat in vec4 lane_low;
flat in vec4 lane_high;
layout(location = 0) out vec4 low;
layout(location = 1) out vec4 high;

void main() {
    vec2 offset = 2.0 * gl_PointCoord - 1.0;
    float falloff = max(0.0, 1.0 - dot(offset, offset));
    falloff *= falloff;
    low = lane_low * falloff;
    high = lane_high * falloff;
}
