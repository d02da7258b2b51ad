// A stage of three layers: shapes and axes below, points and lines by WebGL, names above.

const VERTEX = `#version 300 es
in vec3 position; in vec4 colour; in float weight;
uniform mat3 turn; uniform vec3 centre; uniform vec2 pan; uniform vec2 fit; uniform float zoom; uniform float deep;
uniform float pixels; uniform bool disk; uniform bool line; uniform float fade;
out vec4 shade; out float width;
void main() {
  vec3 p = turn * (position - centre);
  if (disk) p = vec3(p.xy / (1.0 + p.z), 0.0);
  float near = fade > 0.0 ? mix(1.0 - fade, 1.0, smoothstep(-0.25, 0.25, p.z)) : 1.0;
  gl_Position = vec4((p.xy * zoom + pan) * fit, disk ? 0.0 : -p.z * deep, 1.0);
  width = pixels * weight * (line ? 1.0 : mix(0.75, 1.0, near));
  gl_PointSize = width;
  shade = vec4(colour.rgb, colour.a * near);
}`;
const FRAGMENT = `#version 300 es
precision highp float;
in vec4 shade; in float width; uniform bool line; uniform vec4 rim; out vec4 result;
void main() {
  vec4 c = shade;
  if (!line) {
    float r = length(gl_PointCoord - 0.5) * width;
    float edge = 0.5 * width;
    float inside = 1.0 - smoothstep(edge - 1.2, edge, r);
    if (inside < 0.02) discard;
    float body = 1.0 - smoothstep(edge - 2.2, edge - 1.2, r);
    c = vec4(mix(rim.rgb, shade.rgb, width > 5.0 ? mix(0.45, 1.0, body) : 1.0), shade.a * inside);
  }
  result = vec4(c.rgb * c.a, c.a);
}`;

const IDENTITY = [1, 0, 0, 0, 1, 0, 0, 0, 1];

// Matrices of three rows, in WebGL's order: column by column.
function times(a, b) {
  const c = new Array(9);
  for (let column = 0; column < 3; column++)
    for (let row = 0; row < 3; row++)
      c[3 * column + row] = a[row] * b[3 * column] + a[3 + row] * b[3 * column + 1] + a[6 + row] * b[3 * column + 2];
  return c;
}
function turnAbout(axis, angle) {
  const c = Math.cos(angle), s = Math.sin(angle);
  if (axis === "x") return [1, 0, 0, 0, c, s, 0, -s, c];
  if (axis === "y") return [c, 0, -s, 0, 1, 0, s, 0, c];
  return [c, s, 0, -s, c, 0, 0, 0, 1];
}
// The isometry of the hyperbolic plane that moves its centre towards (a, b), a unit vector, by a distance.
function boost(a, b, distance) {
  const C = Math.cosh(distance), S = Math.sinh(distance);
  return [1 + (C - 1) * a * a, (C - 1) * a * b, S * a, (C - 1) * a * b, 1 + (C - 1) * b * b, S * b, S * a, S * b, C];
}

function drawnBySoftware() {
  const gl = document.createElement("canvas").getContext("webgl2"), info = gl && gl.getExtension("WEBGL_debug_renderer_info");
  if (!info) return false;
  const name = gl.getParameter(info.UNMASKED_RENDERER_WEBGL);
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

class Stage {
  constructor(host, label) {
    this.host = host;
    const layer = (name) => {
      const canvas = document.createElement("canvas");
      canvas.className = name;
      host.append(canvas);
      return canvas;
    };
    this.under = layer("under");
    this.canvas = layer("points");
    this.over = layer("over");
    for (const each of [this.under, this.over]) each.setAttribute("aria-hidden", "true");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", label);
    const smooth = (window.devicePixelRatio || 1) < 2 && !drawnBySoftware();  // points are smooth by themselves, lines are thin
    const gl = this.canvas.getContext("webgl2", { antialias: smooth, alpha: true, premultipliedAlpha: true });
    this.gl = gl;
    if (gl) this.prepare();
    this.turn = IDENTITY;
    this.pan = [0, 0];
    this.zoom = 1;
    this.scene = null;
    this.lines = [];
    this.paint = () => {};
    this.write = () => {};
    this.marked = () => false;
    this.waiting = false;
    new ResizeObserver(() => this.resize()).observe(host);
    this.resize();
  }

  prepare() {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    ["position", "colour", "weight"].forEach((name, k) => gl.bindAttribLocation(program, k, name));
    gl.linkProgram(program);
    gl.useProgram(program);
    this.uniform = (name) => gl.getUniformLocation(program, name);
    this.places = Object.fromEntries(
      ["turn", "centre", "pan", "fit", "zoom", "deep", "pixels", "disk", "line", "fade", "rim"].map((name) => [name, this.uniform(name)]));
    this.buffers = { position: gl.createBuffer(), colour: gl.createBuffer(), weight: gl.createBuffer() };
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthFunc(gl.LEQUAL);
  }

  resize() {
    const box = this.host.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    this.width = Math.max(1, box.width);
    this.height = Math.max(1, box.height);
    this.ratio = ratio;
    for (const canvas of [this.under, this.canvas, this.over]) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(this.height * ratio);
      canvas.drawn = null;  // a new size empties it
    }
    this.draw();
  }

  // A scene: positions (N, 3), a shape, how far it reaches, guide lines; "disk" is seen through the Poincare projection.
  show(scene) {
    this.scene = scene;
    this.turn = scene.turn || IDENTITY;
    this.pan = [0, 0];
    this.zoom = 1;
    this.upload("position", scene.positions);
    this.guides = this.lineBuffer(scene.guides || []);
    this.lines = [];
    this.draw();
  }

  upload(name, values) {
    const gl = this.gl;
    if (!gl) return;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
  }

  paintPoints(colours, weights) {
    this.colours = colours;
    this.upload("colour", colours);
    this.upload("weight", weights);
    this.draw();
  }

  // Paths, each a list of points, become pairs of vertices.
  lineBuffer(paths) {
    let count = 0;
    for (const path of paths) count += Math.max(0, path.length - 1);
    const values = new Float32Array(count * 6);
    let at = 0;
    for (const path of paths)
      for (let k = 1; k < path.length; k++) {
        values.set(path[k - 1], at); values.set(path[k], at + 3);
        at += 6;
      }
    const gl = this.gl;
    if (!gl) return null;
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    return { buffer, count: count * 2 };
  }

  // Lines: [{paths, colour: [r, g, b, a]}].
  setLines(lines) {
    for (const line of this.lines) if (line.drawn && this.gl) this.gl.deleteBuffer(line.drawn.buffer);
    this.lines = lines.map((line) => ({ ...line, drawn: this.lineBuffer(line.paths) }));
    this.draw();
  }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.drawNow();
    });
  }

  // What one unit of the scene is on the screen, in the shorter half of the stage.
  fit() {
    const margin = this.scene.margin || 0.92, half = Math.min(this.width, this.height) / 2;
    if (this.scene.stretch) return [margin, margin];
    return [(half / (this.width / 2)) * margin, (half / (this.height / 2)) * margin];
  }

  drawNow() {
    const scene = this.scene;
    this.layer(this.under, scene ? this.paint : null, [scene, this.theme, this.width, this.height, this.zoom, ...this.pan]);
    this.layer(this.over, scene && this.marked() ? this.write : null, scene && this.marked() ? [{}] : [scene, this.width, this.height]);
    if (!scene) return;
    const gl = this.gl;
    if (!gl) return;
    const place = this.places, theme = this.theme;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.disable(gl.SCISSOR_TEST);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    if (scene.bounds) {  // nothing outside the axes
      const box = this.box(), r = this.ratio;
      gl.enable(gl.SCISSOR_TEST);
      gl.scissor(box.left * r, (this.height - box.bottom) * r, (box.right - box.left) * r, (box.bottom - box.top) * r);
    }
    const solid = !scene.disk && !scene.flat;
    if (solid) gl.enable(gl.DEPTH_TEST); else gl.disable(gl.DEPTH_TEST);
    gl.uniformMatrix3fv(place.turn, false, this.turn);
    gl.uniform3fv(place.centre, scene.centre || [0, 0, 0]);
    gl.uniform2fv(place.pan, this.pan);
    gl.uniform2fv(place.fit, this.fit());
    gl.uniform1f(place.zoom, this.zoom * (scene.scale || 1));
    gl.uniform1f(place.deep, (scene.scale || 1) * 0.45);
    gl.uniform1i(place.disk, scene.disk ? 1 : 0);
    gl.uniform4fv(place.rim, theme.rim);
    const drawLines = (drawn, colour, fade) => {
      if (!drawn || !drawn.count) return;
      gl.uniform1i(place.line, 1);
      gl.uniform1f(place.fade, fade);
      gl.bindBuffer(gl.ARRAY_BUFFER, drawn.buffer);
      gl.enableVertexAttribArray(0);
      gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
      gl.disableVertexAttribArray(1); gl.disableVertexAttribArray(2);
      gl.vertexAttrib4fv(1, colour);
      gl.vertexAttrib1f(2, 1);
      gl.drawArrays(gl.LINES, 0, drawn.count);
    };
    gl.depthMask(false);
    drawLines(this.guides, theme.guide, scene.fade ? 0.75 : 0);
    for (const line of this.lines) drawLines(line.drawn, line.colour, scene.fade || 0);
    gl.depthMask(true);
    gl.uniform1i(place.line, 0);
    gl.uniform1f(place.fade, scene.fade || 0);
    gl.uniform1f(place.pixels, this.pointSize() * this.ratio);
    [["position", 3, gl.FLOAT, false], ["colour", 4, gl.UNSIGNED_BYTE, true], ["weight", 1, gl.FLOAT, false]].forEach(([name, size, kind, unit], k) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
      gl.enableVertexAttribArray(k);
      gl.vertexAttribPointer(k, size, kind, unit, 0, 0);
    });
    gl.drawArrays(gl.POINTS, 0, scene.count);
  }

  // Draw a flat layer anew, but only if what it depends on has changed: turning a globe leaves its outline as it is.
  layer(canvas, draw, depends) {
    if (canvas.drawn && canvas.drawn.length === depends.length && canvas.drawn.every((value, k) => value === depends[k])) return;
    canvas.drawn = depends;
    const context = canvas.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    if (draw) draw(context);
  }

  // Where the axes of a plane stand, in pixels; a stage too small for them (the page is still being laid out) has none.
  box() { return { left: 58, top: 14, right: Math.max(58, this.width - 14), bottom: Math.max(14, this.height - 46) }; }

  pointSize() {
    const crowd = Math.sqrt(this.scene.count) / Math.min(this.width, this.height);
    return Math.max(2.6, Math.min(10, 0.72 / crowd)) * Math.min(2.5, Math.max(1, Math.sqrt(this.zoom)));
  }

  // Where a point of the scene is on the screen: x, y in pixels, and how far in front.
  project(p) {
    const c = this.scene.centre || [0, 0, 0], m = this.turn, [u, v, w] = [p[0] - c[0], p[1] - c[1], p[2] - c[2]];
    let x = m[0] * u + m[3] * v + m[6] * w, y = m[1] * u + m[4] * v + m[7] * w, z = m[2] * u + m[5] * v + m[8] * w;
    if (this.scene.disk) { x /= 1 + z; y /= 1 + z; z = 0; }
    const [a, b] = this.fit(), zoom = this.zoom * (this.scene.scale || 1);
    return [((x * zoom + this.pan[0]) * a + 1) * this.width / 2, (1 - (y * zoom + this.pan[1]) * b) * this.height / 2, z];
  }

  screenOf(index) {
    const at = this.scene.positions;
    return this.project([at[3 * index], at[3 * index + 1], at[3 * index + 2]]);
  }

  // The node under a place on the screen, the foremost within reach; -1 for none.
  pick(x, y, reach = 12) {
    if (!this.scene) return -1;
    let best = -1, least = Infinity;
    for (let k = 0; k < this.scene.count; k++) {
      if (this.colours && this.colours[4 * k + 3] === 0) continue;
      const [a, b, z] = this.screenOf(k), gap = Math.hypot(a - x, b - y);
      if (gap > reach || (this.scene.fade && z < -0.05)) continue;
      const cost = gap - (this.scene.fade ? 4 * z : 0);
      if (cost < least) { least = cost; best = k; }
    }
    return best;
  }

  // Drag by pixels: a globe turns, a disk glides along itself, a plane is shifted.
  drag(dx, dy) {
    const [a, b] = this.fit();
    if (this.scene.disk) {
      const step = Math.hypot(dx, dy);
      if (!step) return;
      const size = (Math.min(this.width, this.height) / 2) * this.zoom;
      this.turn = times(boost(dx / step, -dy / step, (2 * step) / size), this.turn);
    } else if (this.scene.flat) {
      this.pan[0] += (2 * dx) / this.width / a;
      this.pan[1] -= (2 * dy) / this.height / b;
    } else if (this.scene.upright) {
      const reach = 3 / Math.min(this.width, this.height);
      this.tilt = Math.max(-1.55, Math.min(0.6, (this.tilt ?? this.scene.tilt) + dy * reach));
      this.spin = (this.spin ?? 0) + dx * reach;
      this.turn = times(turnAbout("x", this.tilt), turnAbout("z", this.spin));
    } else {
      const reach = 3 / Math.min(this.width, this.height) / this.zoom;
      this.turn = times(times(turnAbout("y", dx * reach), turnAbout("x", dy * reach)), this.turn);
    }
    this.draw();
  }

  // Zoom about a place on the screen.
  magnify(factor, x = this.width / 2, y = this.height / 2) {
    const before = this.zoom;
    this.zoom = Math.max(0.4, Math.min(200, this.zoom * factor));
    const grown = this.zoom / before, [a, b] = this.fit();
    const u = ((2 * x) / this.width - 1) / a, v = (1 - (2 * y) / this.height) / b;
    this.pan = [u - (u - this.pan[0]) * grown, v - (v - this.pan[1]) * grown];
    this.draw();
  }

  reset() {
    this.turn = this.scene.turn || IDENTITY;
    this.pan = [0, 0];
    this.zoom = 1;
    this.tilt = this.spin = undefined;
    this.draw();
  }

  // Bring a node to the middle: the globe turns, the disk glides.
  centreOn(index) {
    const at = this.scene.positions, m = this.turn;
    const p = [0, 1, 2].map((row) => m[row] * at[3 * index] + m[3 + row] * at[3 * index + 1] + m[6 + row] * at[3 * index + 2]);
    if (this.scene.disk) {
      const radius = Math.hypot(p[0], p[1]);
      if (radius > 0) this.turn = times(boost(-p[0] / radius, -p[1] / radius, Math.asinh(radius)), m);
    } else if (this.scene.fade) {
      const across = Math.atan2(p[0], p[2]), up = Math.atan2(p[1], Math.hypot(p[0], p[2]));
      this.turn = times(turnAbout("x", up), times(turnAbout("y", -across), m));
    }
    this.draw();
  }
}
