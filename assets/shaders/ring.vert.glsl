#version 330 core
// A square around the ring.
uniform vec2 center;       // of the ring [px]
uniform float radius;      // [px]
uniform float width;       // of the line [px]
uniform vec2 half_viewport;
out vec2 v_offset;

void main() {
    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
    v_offset = corner * (radius + 2.0 * width + 1.0);
    gl_Position = vec4((center + v_offset) / half_viewport - 1.0, 0.0, 1.0);
}
