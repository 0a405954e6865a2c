#version 330 core
// Corners of colliders, drains, emitters and of the domain's border. A corner is a world point plus
// an offset in pixels, so that edges and bevels keep their width at every zoom.
layout(location = 0) in vec2 position;   // [m]
layout(location = 1) in vec2 offset;     // [px]
layout(location = 2) in float limit;     // the offset is shortened to this length [m]
layout(location = 3) in float depth;     // how far inside the outline the corner is [px]
layout(location = 4) in vec2 local;      // coordinates of the pattern [m]
layout(location = 5) in vec2 axis;       // in which the pattern's x points; 0: it ignores the offset
layout(location = 6) in vec2 normal;     // of the surface, for light
layout(location = 7) in vec4 color;      // sRGB, straight alpha
layout(location = 8) in vec2 style;      // x: which pattern, y: its strength

uniform vec2 center;           // of the view [m]
uniform vec2 half_viewport;    // [px]
uniform float pixels_per_meter;
uniform float pixel_ratio;
uniform vec2 shift;            // of everything [px]

out float v_depth;
out vec2 v_local;
out vec2 v_normal;
out vec4 v_color;
flat out vec2 v_style;

void main() {
    vec2 moved = offset * pixel_ratio;
    float reach = length(moved);
    float kept = reach > 0.0 ? min(1.0, limit * pixels_per_meter / reach) : 1.0;
    moved *= kept;
    vec2 pixel = (position - center) * pixels_per_meter + moved + shift;
    gl_Position = vec4(pixel / half_viewport, 0.0, 1.0);
    v_depth = depth * pixel_ratio * kept;
    v_local = local + vec2(dot(moved, axis), dot(moved, vec2(-axis.y, axis.x))) / pixels_per_meter;
    v_normal = normal;
    v_color = color;
    v_style = style;
}
