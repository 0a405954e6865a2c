#version 330 core
in vec2 v_offset;
uniform float radius;
uniform float width;
uniform vec4 ring_color;   // sRGB, straight alpha
out vec4 color;

void main() {
    float away = length(v_offset) - radius;
    float line = clamp(0.5 * width - abs(away) + 0.5, 0.0, 1.0);
    float halo = 0.35 * clamp(0.5 * width + 1.5 - abs(away), 0.0, 1.0);  // dark, for bright grounds
    float fill = 0.05 * clamp(0.5 - away, 0.0, 1.0);
    float bright = max(line, fill) * ring_color.a;
    float alpha = max(bright, halo * ring_color.a);
    color = vec4(ring_color.rgb * bright, alpha);
}
