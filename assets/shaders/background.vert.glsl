#version 330 core
// The domain as one quad. What lies beyond it is cleared to a plain colour.
uniform vec2 center;           // of the view [m]
uniform vec2 clip_per_meter;
uniform vec2 domain;           // [m]
uniform vec3 zenith;           // sRGB, at the top
uniform vec3 ground;           // at the bottom
uniform float minor_step;      // of the grid [m]

out vec3 sky;
out vec2 steps;

void main() {
    vec2 world = domain * vec2(gl_VertexID & 1, gl_VertexID >> 1);
    sky = gl_VertexID < 2 ? ground : zenith;
    steps = world / minor_step;
    gl_Position = vec4((world - center) * clip_per_meter, 0.0, 1.0);
}
