#version 330 core
// The density lanes become matter: a smooth edge, the winning material, light from the relief.
// With WIDE there are eight lanes, else four; with BY_VALUE lane 1 holds a value to be shown.
#include "viridis.glsl"
uniform sampler2D lanes_low;
uniform sampler2D lanes_high;
uniform sampler2D relief;
in vec2 lane_at;
in vec2 relief_at;
// A column a lane: sRGB, since light is drawn here, not measured, and how wet the surface looks.
flat in mat4 skins_low;
flat in mat4 skins_high;
flat in vec4 shade;            // sRGB and strength of the shadow
// x thin: 0 if particles are larger than pixels, 1 if far smaller, so that coverage is drawn;
// y sharpness of borders between materials; z density of the visible edge;
// w opacity of a particle that stands alone
flat in vec4 settings;
out vec4 color;

const vec3 LIGHT = vec3(-0.39, 0.65, 0.652);
const vec3 HALFWAY = vec3(-0.2146, 0.3576, 0.9089);

void main() {
    vec4 low = texture(lanes_low, lane_at);
#ifdef BY_VALUE
    float density = low.x;
    vec3 base = viridis(low.y / max(low.x, 1e-5));
    float wet = 0.25;
    float foreign = 0.0;
#else
#ifdef WIDE
    vec4 high = texture(lanes_high, lane_at);
    vec4 tops = max(low, high);
    float density = dot(low + high, vec4(1.0));
#else
    vec4 tops = low;
    float density = dot(low, vec4(1.0));
#endif
    // The densest lane wins; within a pixel of the border the others blend in.
    float top = max(max(tops.x, tops.y), max(tops.z, tops.w));
    float steepness = settings.y / max(density, 1e-4);
    vec4 share = max(1.0 + steepness * (low - top), 0.0);
    vec4 skin = skins_low * share;
    float total = dot(share, vec4(1.0));
#ifdef WIDE
    share = max(1.0 + steepness * (high - top), 0.0);
    skin += skins_high * share;
    total += dot(share, vec4(1.0));
#endif
    skin /= total;
    vec3 base = skin.rgb;
    float wet = skin.a;
    float foreign = smoothstep(0.0, 0.5, 1.0 - top / max(density, 1e-4));
#endif

    vec4 height = texture(relief, relief_at);
    // Grains are drawn singly, so their body keeps inside them; gaps deep in any body are closed.
    float deep = smoothstep(0.5, 0.75, height.x);
    float threshold = settings.z * mix(1.4, 1.0, min(4.0 * wet, 1.0)) * (1.0 - 0.9 * deep);
    float slope = length(vec2(dFdx(density), dFdy(density)));
    float edge = clamp((density - threshold) / max(slope, 1e-4) + 0.5, 0.0, 1.0) *
                 mix(settings.w, 1.0, smoothstep(0.02, 0.12, height.x));
    float coverage = mix(edge, max(min(density, 1.0), deep), settings.x);

    vec3 normal = normalize(vec3(-2.4 * height.yz, 1.0));
    float light = clamp(dot(normal, LIGHT) / LIGHT.z - 1.0, -1.0, 1.0);
    float depth = smoothstep(0.5, 1.0, height.x);
    float rim = (1.0 - smoothstep(threshold, threshold + 0.45, density)) * (1.0 - deep);

    // Dry matter has a dark inner outline, wet matter light along its rim, gloss and depth.
    float tint = (0.05 + 0.20 * wet) * (0.7 - depth);
    vec3 shaded = base * ((1.0 + 0.22 * light) * (1.0 + tint) * (1.0 - 0.2 * (1.0 - wet) * rim));
    shaded *= 1.0 - (0.22 - 0.1 * wet) * foreign;  // a contour where materials touch
    shaded += (0.6 - 0.4 * base) * (0.55 * wet * wet * rim * (0.25 + 0.75 * max(normal.y, 0.0)));
    float gleam = max(dot(normal, HALFWAY), 0.0);
    gleam *= gleam;
    gleam *= gleam;
    gleam *= gleam;
    gleam *= gleam * gleam * gleam;  // to the power 24, squared below
    shaded += (1.0 - min(shaded, 1.0)) * min(0.6 * wet * gleam * gleam, 1.0);
    shaded = clamp(mix(shaded, base, settings.x), 0.0, 1.0);

    float shadow = (1.0 - coverage) * shade.a * smoothstep(0.0, 0.9, height.w);
    color = vec4(shaded * coverage + shade.rgb * shadow, coverage + shadow);
}
