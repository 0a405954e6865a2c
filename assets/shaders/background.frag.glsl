#version 330 core
// A quiet gradient with a metre grid; every tenth line is a major one.
in vec3 sky;
in vec2 steps;                 // coordinates in minor steps
uniform float pixels_per_step;
uniform float minor_strength;  // 0..1
uniform vec4 grid_color;       // sRGB; its alpha is the strength of major lines
out vec4 color;

float lines(vec2 at, float pixels) {
    vec2 away = abs(at - floor(at + 0.5)) * pixels;
    return max(1.0 - min(away.x, away.y), 0.0);
}

void main() {
    float grid = max(lines(steps, pixels_per_step) * minor_strength,
                     lines(0.1 * steps, 10.0 * pixels_per_step));
    // Half a level of noise keeps the gradient from showing steps.
    float noise = fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715))));
    color = vec4(mix(sky, grid_color.rgb, grid * grid_color.a) + (noise - 0.5) / 255.0, 1.0);
}
