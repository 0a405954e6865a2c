// Viridis: even steps of the value are even steps of lightness. t in 0..1, sRGB out.
vec3 viridis(float t) {
    const vec3 c0 = vec3(0.27772733, 0.00540734, 0.33409980);
    const vec3 c1 = vec3(0.10509304, 1.40461353, 1.38459014);
    const vec3 c2 = vec3(-0.33086183, 0.21484756, 0.09509516);
    const vec3 c3 = vec3(-4.63423050, -5.79910080, -19.33244096);
    const vec3 c4 = vec3(6.22826999, 14.17993337, 56.69055260);
    const vec3 c5 = vec3(4.77638490, -13.74514537, -65.35303263);
    const vec3 c6 = vec3(-5.43545586, 4.64585252, 26.31243525);
    t = clamp(t, 0.0, 1.0);
    return c0 + t * (c1 + t * (c2 + t * (c3 + t * (c4 + t * (c5 + t * c6)))));
}
