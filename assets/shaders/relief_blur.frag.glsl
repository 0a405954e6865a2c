#version 330 core
// Blurs along one axis with a standard deviation of 1.5 pixels and takes the slope along it. Rows:
// height -> (height, slope in x). COLUMNS: that -> (height, slope in x, slope in y, shadow). Height
// and slope over a broad neighbourhood are what light and depth are drawn from; the shadow is the
// height somewhere else.
uniform sampler2D source;
uniform vec2 texel;           // 1 / size of the texture
uniform vec2 last;            // coordinates of the last pixel in use
#ifdef COLUMNS
uniform vec2 shadow_offset;   // [px of this target]
#endif
out vec4 relief;

vec4 height_at(vec2 pixel) {
    return texture(source, clamp(pixel * texel, 0.5 * texel, last));
}

void main() {
    vec2 height = vec2(0.0);
    float slope = 0.0;
    float shadow = 0.0;
    for (int i = -3; i <= 3; i++) {
        float away = float(i) / 1.5;
        float weight = 0.27069 * exp(-0.5 * away * away);
#ifdef COLUMNS
        vec2 pixel = gl_FragCoord.xy + vec2(0.0, float(i));
        shadow += weight * height_at(pixel - shadow_offset).r;
#else
        vec2 pixel = gl_FragCoord.xy + vec2(float(i), 0.0);
#endif
        vec2 here = height_at(pixel).rg;
        height += weight * here;
        slope += weight * away * here.r;
    }
#ifdef COLUMNS
    relief = vec4(height, slope, shadow);
#else
    relief = vec4(height.r, slope, 0.0, 0.0);
#endif
}
