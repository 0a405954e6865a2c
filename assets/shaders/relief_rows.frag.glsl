#version 330 core
// First half of the relief: the density, summed over the lanes, blurred along rows with a standard
// deviation of 1.5 pixels of this coarser target: (height, slope in x). With WIDE there are eight
// lanes, else four.
uniform sampler2D lanes_low;
#ifdef WIDE
uniform sampler2D lanes_high;
#endif
uniform vec4 lane_mask_low;   // which lanes count as density
uniform int taps;             // samples along each side of a pixel; each blends four lane pixels
uniform vec2 lane_scale;      // from pixels of this target to lane coordinates
uniform vec2 lane_offset;
uniform vec2 lane_limit;      // coordinates of the last lane pixel in use
out vec4 relief;

float density(vec2 pixel) {
    vec2 uv = clamp(pixel * lane_scale + lane_offset, vec2(0.0), lane_limit);
    float sum = dot(texture(lanes_low, uv), lane_mask_low);
#ifdef WIDE
    sum += dot(texture(lanes_high, uv), vec4(1.0));
#endif
    return min(sum, 1.0);
}

float mean_density(vec2 corner) {
    float sum = 0.0;
    for (int y = 0; y < taps; y++) {
        for (int x = 0; x < taps; x++) {
            sum += density(corner + (vec2(x, y) + 0.5) / float(taps));
        }
    }
    return sum / float(taps * taps);
}

void main() {
    float height = 0.0;
    float slope = 0.0;
    for (int i = -3; i <= 3; i++) {
        float away = float(i) / 1.5;
        float here = 0.27069 * exp(-0.5 * away * away) *
                     mean_density(gl_FragCoord.xy + vec2(float(i) - 0.5, -0.5));
        height += here;
        slope += away * here;
    }
    relief = vec4(height, slope, 0.0, 0.0);
}
