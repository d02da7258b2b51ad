// Distances and geodesics of every space, in double precision: the formulas of qgcn.geometry.

const Geometry = (() => {
  // The share of an end in a point of a geodesic, S being sin or sinh: tau where nothing is to be shared, or no way is the shortest.
  const part = (S, tau, angle) => (angle === 0 || angle === Math.PI ? tau : S(tau * angle) / S(angle));

  const arc = (square) => (square >= 0 ? 2 * Math.asinh(Math.sqrt(square) / 2) : -2 * Math.asin(Math.min(1, Math.sqrt(-square) / 2)));

  // The squared chord to the nearer of y and -y, in units of |beta|, and whether that is -y.
  function chord(factor, x, y, at, to) {
    const size = -factor.beta;
    let near = 0, nearError = 0, across = 0, acrossError = 0;
    for (let k = 0; k < factor.size; k++) {
      const difference = x[at + k] - y[to + k], sum = x[at + k] + y[to + k];
      const sign = k < factor.time ? -1 : 1;
      near += sign * difference * difference; nearError += difference * difference;
      across += sign * sum * sum; acrossError += sum * sum;
    }
    near /= size; across /= size;
    const far = factor.kind === "H" ? false : nearError <= acrossError ? near < -2 : across > -2;
    return { square: far ? across : near, far, error: (far ? acrossError : nearError) / size };
  }

  function factorDistance(factor, x, y, at, to) {
    if (factor.kind === "E" || factor.kind === "K") {
      let gap = 0, lengthX = 0, lengthY = 0;
      for (let k = 0; k < factor.size; k++) {
        const a = x[at + k], b = y[to + k];
        gap += (a - b) * (a - b); lengthX += a * a; lengthY += b * b;
      }
      const kappa = factor.kappa || 0;
      if (kappa === 0) return Math.sqrt(gap) * (factor.kind === "K" ? 2 : 1);
      const u = Math.sqrt(gap / ((1 + kappa * lengthX) * (1 + kappa * lengthY) - kappa * gap)), root = Math.sqrt(Math.abs(kappa));
      return (2 / root) * (kappa > 0 ? Math.atan(root * u) : Math.atanh(root * u));
    }
    const c = chord(factor, x, y, at, to);
    const length = factor.time === 1 ? arc(Math.max(0, c.square)) : arc(c.square);
    return Math.sqrt(-factor.beta) * (c.far ? Math.PI + length : Math.abs(length));
  }

  // A set of points of one space.
  class Points {
    constructor(values, count, space) {
      this.count = count;
      this.space = space;
      this.size = space.parts.reduce((sum, factor) => sum + factor.size, 0);
      this.x = Float64Array.from(values);
      let offset = 0;
      for (const factor of space.parts) {
        factor.offset = offset;
        offset += factor.size;
      }
      for (let i = 0; i < count; i++) this.project(this.x, i * this.size);
    }

    // Put a point back onto its space: what rounding to single precision has moved.
    project(x, at) {
      for (const factor of this.space.parts) {
        if (!factor.time) continue;
        let time = 0, space = 0;
        for (let k = 0; k < factor.size; k++) {
          const value = x[at + factor.offset + k];
          if (k < factor.time) time += value * value; else space += value * value;
        }
        const scale = Math.sqrt((-factor.beta + space) / time);
        for (let k = 0; k < factor.time; k++) x[at + factor.offset + k] *= scale;
      }
    }

    at(i) { return this.x.subarray(i * this.size, (i + 1) * this.size); }

    distance(i, j) {
      const factors = this.space.parts;
      if (factors.length === 1) return factorDistance(factors[0], this.x, this.x, i * this.size, j * this.size);
      let sum = 0;
      for (const factor of factors) {
        const length = factorDistance(factor, this.x, this.x, i * this.size + factor.offset, j * this.size + factor.offset);
        sum += length * length;
      }
      return Math.sqrt(sum);
    }

    distancesFrom(i) {
      const all = new Float64Array(this.count);
      for (let j = 0; j < this.count; j++) all[j] = j === i ? 0 : this.distance(i, j);
      return all;
    }

    // How a pair lies: only a pseudo-hyperboloid has causal types.
    get causal() { return this.space.parts.length === 1 && this.space.parts[0].kind === "Q"; }

    causalType(i, j) {
      const c = chord(this.space.parts[0], this.x, this.x, i * this.size, j * this.size);
      if (c.far) return c.square >= -this.space.antipode ? "broken" : "time-like";
      if (Math.abs(c.square) <= this.space.null * c.error) return "null";
      return c.square > 0 ? "space-like" : "time-like";
    }

    // Points of the geodesic from i to j; where none is smooth, through -j and along half a circle.
    geodesic(i, j, steps) {
      const path = Array.from({ length: steps + 1 }, () => new Float64Array(this.size));
      for (const factor of this.space.parts) this.factorPath(factor, i, j, path);
      return path;
    }

    factorPath(factor, i, j, path) {
      const x = this.at(i).subarray(factor.offset, factor.offset + factor.size);
      const y = this.at(j).subarray(factor.offset, factor.offset + factor.size);
      const put = (row, a, u, b, v) => { for (let k = 0; k < factor.size; k++) row[factor.offset + k] = a * u[k] + b * v[k]; };
      const last = path.length - 1;
      if (factor.kappa) {
        stereographicPath(factor.kappa, x, y, last).forEach((point, k) => put(path[k], 1, point, 0, point));
        return;
      }
      if (!factor.time) {
        path.forEach((row, k) => put(row, 1 - k / last, x, k / last, y));
        return;
      }
      const c = chord(factor, x, y, 0, 0);
      const between = (row, tau, from, to, cosine) => {
        const angle = Math.abs(cosine) > 1 ? Math.acosh(Math.abs(cosine)) : Math.acos(cosine);
        const S = Math.abs(cosine) > 1 ? Math.sinh : Math.sin;
        put(row, part(S, 1 - tau, angle), from, part(S, tau, angle), to);
      };
      const cosine = c.far ? -1 - c.square / 2 : 1 + c.square / 2;
      if (cosine > -1) {
        path.forEach((row, k) => between(row, k / last, x, y, cosine));
        return;
      }
      const opposite = y.map((value) => -value), half = Math.floor(last / 2);
      const axis = this.timeAcross(factor, y);
      path.forEach((row, k) => {
        if (k <= half) between(row, half ? k / half : 1, x, opposite, -cosine);
        else if (axis) put(row, -Math.cos((Math.PI * (k - half)) / (last - half)), y, Math.sin((Math.PI * (k - half)) / (last - half)), axis);
        else put(row, 1, y, 0, y);
      });
    }

    // A time vector of length sqrt|beta| at right angles to y, or none if there is one time dimension only.
    timeAcross(factor, y) {
      if (factor.time < 2) return null;
      let least = 0, length = 0;
      for (let k = 0; k < factor.time; k++) {
        if (Math.abs(y[k]) < Math.abs(y[least])) least = k;
        length += y[k] * y[k];
      }
      const axis = new Float64Array(factor.size);
      for (let k = 0; k < factor.time; k++) axis[k] = (k === least ? 1 : 0) - (y[least] * y[k]) / length;
      const norm = Math.hypot(...axis), size = Math.sqrt(-factor.beta);
      return axis.map((value) => (value * size) / norm);
    }

    // The exact view: functions of the point alone, as in qgcn.viz.projections.exact_view.
    exact(x, view) {
      const factors = this.space.parts, factor = factors[0], t = factor.time;
      if (factors.length > 1) return [fromOrigin(factors[0], x, 0), fromOrigin(factors[1], x, factors[0].size), 0];
      if (view.shape === "disk") {
        const size = Math.sqrt(-factor.beta), scale = size + Math.sqrt(-factor.beta + x[t] * x[t] + x[t + 1] * x[t + 1]);
        const height = Math.atan2(norm(x, 1, t), x[0]) / Math.PI;
        return [x[t] / scale, x[t + 1] / scale, t === 2 && x[1] < 0 ? -height : height];
      }
      if (factor.kind !== "Q") return [angle(x, factor.time ? 1 : 0, factor.size, view.mean), fromOrigin(factor, x, 0), 0];
      const radius = Math.asinh(norm(x, t, factor.size) / Math.sqrt(-factor.beta));
      if (t === 1) return [angle(x, 1, factor.size, view.mean), radius * Math.sign(x[0]), 0];
      if (t <= 3) {
        const scale = (1 + radius) / norm(x, 0, t);
        return [x[0] * scale, x[1] * scale, t === 3 ? x[2] * scale : 0];
      }
      const pole = Math.atan2(norm(x, 1, t), x[0]);
      return factor.size === t ? [pole, angle(x, 1, t, view.mean), 0] : [pole, radius, 0];
    }
  }

  // A geodesic of the stereographic model: lifted to the quadric, followed there, and brought back.
  function stereographicPath(kappa, x, y, steps) {
    const lift = (p) => {
      const scale = 2 / (1 + kappa * p.reduce((sum, value) => sum + value * value, 0));
      return [scale - 1, ...Array.from(p, (value) => scale * value * Math.sqrt(Math.abs(kappa)))];
    };
    const a = lift(x), b = lift(y), sign = Math.sign(kappa);
    const cosine = a.reduce((sum, value, k) => sum + (k ? sign : 1) * value * b[k], 0);
    const theta = kappa > 0 ? Math.acos(Math.min(1, cosine)) : Math.acosh(Math.max(1, cosine)), S = kappa > 0 ? Math.sin : Math.sinh;
    return Array.from({ length: steps + 1 }, (_, k) => {
      const u = part(S, 1 - k / steps, theta), v = part(S, k / steps, theta);
      const mixed = a.map((value, n) => u * value + v * b[n]);
      return Float64Array.from(mixed.slice(1), (value) => value / (1 + mixed[0]) / Math.sqrt(Math.abs(kappa)));
    });
  }

  function norm(x, from, to) {
    let sum = 0;
    for (let k = from; k < to; k++) sum += x[k] * x[k];
    return Math.sqrt(sum);
  }

  function angle(x, from, to, mean) {
    let along = 0, length = 0, other = 0;
    for (let k = from; k < to; k++) {
      along += x[k] * mean[k - from];
      length += x[k] * x[k];
      other += mean[k - from] * mean[k - from];
    }
    return Math.atan2(Math.sqrt(Math.max(0, length * other - along * along)), along);
  }

  function fromOrigin(factor, x, at) {
    if (factor.kind === "Q") {
      const theta = Math.atan2(norm(x, at + 1, at + factor.time), x[at]);
      return Math.hypot(Math.sqrt(-factor.beta) * theta, norm(x, at + factor.time, at + factor.size));
    }
    const origin = new Float64Array(factor.size);
    if (factor.time) origin[0] = Math.sqrt(-factor.beta);
    return factorDistance(factor, x, origin, at, 0);
  }

  // Geodesics of the pictures themselves: great circles, and straight lines of the hyperbolic plane.
  function pictureGeodesic(kind, a, b, steps) {
    const product = kind === "sphere" ? a[0] * b[0] + a[1] * b[1] + a[2] * b[2] : a[2] * b[2] - a[0] * b[0] - a[1] * b[1];
    const angle = kind === "sphere" ? Math.acos(Math.max(-1, Math.min(1, product))) : Math.acosh(Math.max(1, product));
    const S = kind === "sphere" ? Math.sin : Math.sinh, path = [];
    for (let k = 0; k <= steps; k++) {
      const u = part(S, 1 - k / steps, angle), v = part(S, k / steps, angle);
      path.push([u * a[0] + v * b[0], u * a[1] + v * b[1], u * a[2] + v * b[2]]);
    }
    return path;
  }

  return { Points, pictureGeodesic };
})();
