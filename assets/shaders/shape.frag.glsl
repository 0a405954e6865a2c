#version 330 core
in float v_depth;
in vec2 v_local;
in vec2 v_normal;
in vec4 v_color;
flat in vec2 v_style;

uniform float pixel_ratio;
uniform float pattern_step;    // [m], between 8 and 16 window points
uniform float pixels_per_meter;
uniform float bevel;           // strength of the light on edges
uniform vec4 shadow;           // sRGB and strength; above 0: only the shadows of bodies are drawn
out vec4 color;

const float PLAIN = 0.0;
const float BODY = 1.0;     // a collider; strength: how rough it is
const float ZONE = 2.0;     // an emitter or a drain: thin fill, dashed outline
const float BORDER = 3.0;   // a closed side of the domain; strength: how rough it is
const float DASHES = 4.0;   // an open side of the domain

// Coverage of stripes across `t` [m], `part` of the step wide, with soft edges.
float stripes(float t, float part) {
    float away = abs(fract(t / pattern_step) - 0.5) * pattern_step * pixels_per_meter;
    return clamp(0.5 * part * pattern_step * pixels_per_meter - away + 0.5, 0.0, 1.0);
}

void main() {
    float inside = clamp(v_depth + 0.5, 0.0, 1.0);
    float alpha = v_color.a * inside;
    vec3 tone = v_color.rgb;
    float kind = v_style.x;
    float strength = v_style.y;
    float points = v_depth / pixel_ratio;

    if (shadow.a > 0.0) {
        alpha = kind == BODY ? shadow.a * smoothstep(0.0, 5.0, points) : 0.0;
        tone = shadow.rgb;
    } else if (kind == BODY) {
        float hatch = stripes((v_local.x + v_local.y) * 0.70711, 0.3);
        tone *= 1.0 - 0.42 * strength * hatch;
        float edge = 1.0 - smoothstep(0.0, 4.5, points);
        float facing = dot(normalize(v_normal), vec2(-0.45, 0.89));
        tone += bevel * edge * facing * mix(1.0, 0.55, strength);
        // A smooth collider is polished: a thin bright line just inside its edge.
        float gleam = 1.0 - smoothstep(0.5, 1.4, abs(points - 1.4));
        tone += (1.0 - strength) * 0.16 * gleam * clamp(0.5 + facing, 0.0, 1.0);
        tone *= mix(1.0, 0.72, clamp(1.2 - points, 0.0, 1.0));
    } else if (kind == ZONE) {
        float dash = stripes(v_local.x, 0.62);
        float line = clamp(2.0 - abs(points - 1.0) * 1.3, 0.0, 1.0) * dash;
        alpha *= mix(0.13, 0.95, line);
    } else if (kind == BORDER) {
        float line = clamp(1.6 - abs(points), 0.0, 1.0);
        float ticks = stripes((v_local.x + v_depth / pixels_per_meter) * 0.70711, 0.24);
        float fade = 1.0 - smoothstep(1.0, 8.0, -points);
        alpha = v_color.a * max(line, 0.55 * strength * ticks * fade * step(points, 0.0));
    } else if (kind == DASHES) {
        alpha = v_color.a * clamp(1.6 - abs(points), 0.0, 1.0) * stripes(v_local.x * 0.5, 0.5) * 0.8;
    }
    color = vec4(clamp(tone, 0.0, 1.0) * alpha, alpha);
}
