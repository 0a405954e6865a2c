#version 330 core
// First step of the relief: the density, summed over the lanes, at the relief's coarser pixels.
// With WIDE there are eight lanes, else four.
uniform sampler2D lanes_low;
#ifdef WIDE
uniform sampler2D lanes_high;
#endif
uniform vec4 lane_mask_low;   // which lanes count as density
uniform int taps;
uniform vec2 lane_scale;      // from pixels of this target to lane coordinates
uniform vec2 lane_offset;
uniform vec2 lane_limit;      // coordinates of the last lane pixel in use
out vec4 relief;

float density(vec2 pixel) {
    vec2 uv = min(pixel * lane_scale + lane_offset, lane_limit);
    float sum = dot(texture(lanes_low, uv), lane_mask_low);
#ifdef WIDE
    sum += dot(texture(lanes_high, uv), vec4(1.0));
#endif
    return min(sum, 1.0);
}

void main() {
    // taps x taps samples spread evenly over the pixel; each blends four lane pixels.
    float sum = 0.0;
    vec2 corner = gl_FragCoord.xy - 0.5;
    for (int y = 0; y < taps; y++) {
        for (int x = 0; x < taps; x++) {
            sum += density(corner + (vec2(x, y) + 0.5) / float(taps));
        }
    }
    relief = vec4(sum / float(taps * taps), 0.0, 0.0, 0.0);
}
