#version 330 core
// Second half of the relief: blurred along columns too: (height, slope in x, slope in y, shadow).
// Height and slope over a broad neighbourhood are what light and depth are drawn from; the shadow is
// the height somewhere else.
uniform sampler2D rows;
uniform vec2 texel;           // 1 / size of the texture
uniform vec2 last;            // coordinates of the last pixel in use
uniform vec2 shadow_offset;   // [px of this target]
out vec4 relief;

vec4 row_at(vec2 pixel) {
    return texture(rows, clamp(pixel * texel, 0.5 * texel, last));
}

void main() {
    vec2 height = vec2(0.0);
    float slope = 0.0;
    float shadow = 0.0;
    for (int i = -3; i <= 3; i++) {
        float away = float(i) / 1.5;
        float weight = 0.27069 * exp(-0.5 * away * away);
        vec2 pixel = gl_FragCoord.xy + vec2(0.0, float(i));
        vec2 here = row_at(pixel).rg;
        height += weight * here;
        slope += weight * away * here.r;
        shadow += weight * row_at(pixel - shadow_offset).r;
    }
    relief = vec4(height, slope, shadow);
}
