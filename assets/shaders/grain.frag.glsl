#version 330 core
flat in vec3 base;
flat in float grain;
flat in float size;
uniform float strength;
out vec4 color;

void main() {
    vec2 offset = (gl_PointCoord - 0.5) * (2.0 * size + 1.0);  // [px], y down
    float away = length(offset);
    float alpha = clamp(size - away + 0.5, 0.0, 1.0) * strength;
    if (alpha <= 0.0) discard;
    float round_light = dot(offset, vec2(-0.5, -0.8)) / size * smoothstep(1.5, 5.0, size);
    float light = 0.80 + 0.34 * grain + 0.18 * round_light;
    vec3 tone = mix(base, base * vec3(1.05, 0.99, 0.91), fract(grain * 13.7));
    color = vec4(clamp(tone * light, 0.0, 1.0) * alpha, alpha);
}
