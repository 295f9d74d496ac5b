// The canvases of the timeline: rows of nodes and kernels, and the whole run above them.

const HEAD = 19, AXIS = 36, LANE = 4;
const LEAST_ROW = 17, MOST_ROW = 30;
const EDGE = 0.5; // slices narrower than this are drawn as one

class TimelineCanvas {
  get span() { return this.to - this.from; }
  x(time) { return this.gutter + (time - this.from) * this.scale; }
  time(x) { return this.from + (x - this.gutter) / this.scale; }

  // Asked for once a frame: the browser has to lay the page out to answer.
  measure() {
    this.width = this.canvas.clientWidth;
    this.gutter = Math.min(210, this.width * 0.32);
    this.scale = (this.width - this.gutter) / this.span;
    this.colors = CAUSES.map((cause) => color(cause.color));
  }

  // Rows: a head for each node, then its kernels; of few kernels they are higher.
  layout() {
    this.rows = [];
    const heads = new Set(this.timeline.tracks.map((track) => track.nodeText)).size;
    const room = (this.canvas.clientHeight - AXIS - heads * HEAD) / Math.max(1, this.timeline.tracks.length);
    this.rowHeight = Math.round(Math.max(LEAST_ROW, Math.min(MOST_ROW, room)));
    let node = null, y = 0;
    this.rowOf = new Map();
    this.timeline.tracks.forEach((track, number) => {
      if (node !== track.nodeText) {
        node = track.nodeText;
        this.rows.push({ y, height: HEAD, node, tracks: [] });
        y += HEAD;
      }
      const head = this.rows.findLast((row) => row.tracks);
      head.tracks.push(track);
      if (!this.closed.has(node)) {
        this.rowOf.set(number, y);
        this.rows.push({ y, height: this.rowHeight, track });
        y += this.rowHeight;
      } else this.rowOf.set(number, head.y);
    });
    this.height = y;
  }

  paint() {
    if (!this.timeline || !this.canvas.clientWidth) return;
    this.measure();
    const { pen, width, height } = sized(this.canvas);
    this.scroll = Math.max(0, Math.min(this.scroll, this.height + AXIS - height + 8));
    this.paintAxis(pen, width, height);
    pen.save();
    pen.beginPath();
    pen.rect(0, AXIS, width, height - AXIS);
    pen.clip();
    for (const row of this.rows) {
      const y = row.y - this.scroll + AXIS;
      if (y + row.height < AXIS || y > height) continue;
      if (row.track) this.paintTrack(pen, row, y, width);
      else this.paintHead(pen, row, y, width);
    }
    if (this.arrowsShown.checked) this.paintArrows(pen, width, height);
    pen.restore();
    this.paintMapSoon();
    this.canvas.dataset.shown = `${this.from} ${this.to}`;
    if (!document.documentElement.dataset.painted) {
      document.documentElement.dataset.painted = Math.round(performance.now());
    }
  }

  paintAxis(pen, width, height) {
    const marks = niceSteps(this.from, this.to, (width - this.gutter) / 90);
    pen.fillStyle = color('--dim');
    pen.strokeStyle = color('--grid');
    pen.lineWidth = 1;
    for (const mark of marks) {
      const x = Math.round(this.x(mark)) + 0.5;
      pen.beginPath();
      pen.moveTo(x, 15);
      pen.lineTo(x, height);
      pen.stroke();
      pen.fillText(this.timeline.timeText(mark), x + 3, 9);
    }
    pen.fillText(this.timeline.unit === 'tick' ? 'event no.' : 'estimated µs', 8, 9);
    for (const [name, begin] of this.callsIn(width)) {
      const x = this.x(begin);
      pen.fillStyle = color('--accent');
      pen.fillRect(x, 19, 1.5, height);
      pen.fillText(name, x + 4, 26);
    }
  }

  // Operations that begin here; of many only those with room for their names.
  callsIn(width) {
    let after = 0;
    return this.timeline.calls.filter(([name, begin]) => {
      const x = this.x(begin);
      if (x < Math.max(after, this.gutter - 1) || x > width) return false;
      after = x + 8 + name.length * 7;
      return true;
    });
  }

  paintHead(pen, row, y, width) {
    pen.fillStyle = color('--head');
    pen.fillRect(0, y, width, row.height - 1);
    const isClosed = this.closed.has(row.node);
    pen.fillStyle = color('--text');
    pen.fillText(`${isClosed ? '▸' : '▾'} node ${row.node}`, 8, y + row.height / 2);
    if (!isClosed) return;
    const height = (row.height - 5) / row.tracks.length;
    row.tracks.forEach((track, place) => this.paintSlices(pen, track, y + 2 + place * height, height, width));
  }

  paintTrack(pen, row, y, width) {
    const { track } = row;
    const slices = this.timeline.slices(track);
    pen.fillStyle = color('--text');
    pen.fillText(clipped(pen, track.kernel, this.gutter - 76), 22, y + row.height / 2);
    this.paintShares(pen, slices.shares, this.gutter - 50, y + row.height / 2 - 4, 42, 8);
    this.paintSlices(pen, track, y + 1, row.height - LANE - 2, width);
    this.paintTransfers(pen, track, y + row.height - LANE - 1, width);
    if (this.span < this.timeline.end && this.timeline.unit === 'tick') this.paintInstants(pen, track, y, row.height, width);
  }

  paintShares(pen, shares, x, y, width, height) {
    const all = shares.reduce((sum, share) => sum + share, 0);
    if (!all) return;
    shares.forEach((share, cause) => {
      const part = share / all * width;
      pen.fillStyle = color(CAUSES[cause].color);
      pen.fillRect(x, y, part, height);
      x += part;
    });
  }

  paintSlices(pen, track, y, height, width) {
    const slices = this.timeline.slices(track);
    const { begin, end, cause } = slices;
    const matches = this.matches?.get(track);
    const pending = new Float64Array(CAUSES.length);
    let pixel = -1;
    const flush = () => {
      if (pixel < 0) return;
      let most = 0;
      for (let n = 1; n < pending.length; n++) if (pending[n] > pending[most]) most = n;
      if (pending[most]) { pen.fillStyle = this.colors[most]; pen.fillRect(pixel, y, 1, height); }
      pending.fill(0);
      pixel = -1;
    };
    const { from, to, scale, gutter } = this;
    for (let n = firstAfter(end, from); n < begin.length && begin[n] < to; n++) {
      const left = Math.max(gutter + (begin[n] - from) * scale, gutter), right = Math.min(gutter + (end[n] - from) * scale, width);
      if (right - left < EDGE) {
        if (Math.floor(left) !== pixel) { flush(); pixel = Math.floor(left); }
        pending[cause[n]] += right - left;
        continue;
      }
      flush();
      this.paintSlice(pen, track, slices, n, left, y, right - left, height);
    }
    flush();
    if (matches) this.paintMatches(pen, slices, matches, y, height, width);
  }

  paintSlice(pen, track, slices, n, x, y, width, height) {
    const why = slices.cause[n];
    pen.fillStyle = this.colors[why];
    pen.fillRect(x, y, Math.max(width - (width > 3 ? 0.5 : 0), 0.5), height);
    if (width < 6) return;
    if (why !== RUNS) { pen.fillStyle = patternOf(pen, why); pen.fillRect(x, y, width - 0.5, height); }
    if (this.selected?.track === track && this.selected.n === n) {
      pen.strokeStyle = color('--text');
      pen.lineWidth = 2;
      pen.strokeRect(x + 1, y + 1, width - 2, height - 2);
    }
    if (width < 13 || height < 9) return;
    const text = width < 46 ? CAUSES[why].letter : this.timeline.label(track, slices, n);
    if (!text) return;
    const shown = clipped(pen, text, width - 8);
    if (!shown) return;
    if (why !== RUNS) { pen.fillStyle = color(CAUSES[why].color); pen.fillRect(x + 2, y + 1, pen.measureText(shown).width + 4, height - 2); }
    pen.fillStyle = color('--on');
    pen.fillText(shown, x + 4, y + height / 2 + 0.5);
  }

  paintMatches(pen, slices, matches, y, height, width) {
    pen.strokeStyle = color('--mark');
    pen.lineWidth = 2;
    let before = -1;
    for (const n of matches) {
      if (slices.end[n] < this.from || slices.begin[n] > this.to) continue;
      const x = Math.max(this.x(slices.begin[n]), this.gutter);
      const right = Math.min(this.x(slices.end[n]), width);
      if (right < before + 2) continue;
      before = right;
      pen.strokeRect(x, y, Math.max(right - x, 2), height);
    }
  }

  paintTransfers(pen, track, y, width) {
    const { begin, end, cause } = this.timeline.transfers(track);
    const { from, to, scale, gutter } = this;
    let before = -1;
    // One that began long before may still be under way: look back a little.
    for (let n = Math.max(0, firstAfter(begin, from) - 64); n < begin.length && begin[n] <= to; n++) {
      const right = Math.min(gutter + (end[n] - from) * scale, width);
      if (right < gutter || right < before) continue;
      const x = Math.max(gutter + (begin[n] - from) * scale, gutter);
      before = right + 0.5;
      pen.fillStyle = this.colors[cause[n]];
      pen.fillRect(x, y, Math.max(right - x, 0.8), cause[n] === PIPE ? LANE : LANE - 1.5);
    }
  }

  // Marks of pushes and pops, where there is room for them.
  paintInstants(pen, track, y, height, width) {
    if ((width - this.gutter) / this.span < 4) return;
    const timeline = this.timeline;
    const marks = { buffer_push: '▲', buffer_pop: '▽', semaphore_set: '◆', semaphore_inc: '◆' };
    const ticks = timeline.ticks.subarray(track.first, track.first + track.count);
    pen.fillStyle = color('--text');
    for (let n = firstAfter(ticks, this.from - 1); n < ticks.length && ticks[n] < this.to; n++) {
      const mark = marks[timeline.kinds[timeline.kindOf[timeline.shape[track.first + n]]]];
      const x = this.x(ticks[n]);
      if (mark && x >= this.gutter) pen.fillText(mark, x - 4, y + height - 4);
    }
  }

  paintArrows(pen, width, height) {
    const seen = this.timeline.arrows().filter((arrow) => arrow.to.time >= this.from && arrow.from.time <= this.to);
    const chosen = this.selected?.pipe;
    const shown = chosen ? seen.filter((arrow) => arrow.pipe === chosen) : seen;
    if (shown.length > 600) return;
    pen.save();
    pen.beginPath();
    pen.rect(this.gutter, AXIS, width - this.gutter, height - AXIS);
    pen.clip();
    pen.strokeStyle = pen.fillStyle = color('--arrow');
    pen.lineWidth = chosen ? 2 : 1;
    pen.globalAlpha = chosen ? 1 : Math.max(0.25, Math.min(0.9, 60 / shown.length));
    for (const arrow of shown) this.paintArrow(pen, arrow, height);
    pen.restore();
  }

  paintArrow(pen, { from, to }, height) {
    const [x0, x1] = [this.x(from.time), this.x(to.time)];
    const place = (row) => this.rowOf.get(row) - this.scroll + AXIS + this.rowHeight - LANE;
    const [y0, y1] = [place(from.row), place(to.row)];
    if (Math.max(y0, y1) < AXIS || Math.min(y0, y1) > height) return;
    const bend = Math.max(14, Math.abs(x1 - x0) / 2);
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(x1 + 1, y1);
    pen.lineTo(x1 - 6, y1 - 3);
    pen.lineTo(x1 - 6, y1 + 3);
    pen.fill();
  }

  // Of a very long run it takes a while: what is large comes first.
  paintMapSoon() {
    if (this.timeline.mapShares || this.timeline.count < 1_000_000) this.paintMap();
    else setTimeout(() => this.paintMap(), 30);
  }

  // How much waits when, over the whole run, and which part of it is shown.
  paintMap() {
    const { pen, width, height } = sized(this.map);
    const gutter = this.gutter, wide = Math.max(1, Math.round(width - gutter));
    const shares = this.mapShares(wide);
    for (let column = 0; column < wide; column++) {
      let y = height;
      const all = shares.all[column] || 1;
      for (const cause of CAUSES.keys()) {
        const part = shares.of[cause][column] / all * (height - 2);
        if (!part) continue;
        y -= part;
        pen.fillStyle = color(CAUSES[cause].color);
        pen.fillRect(gutter + column, y, 1, part);
      }
    }
    pen.fillStyle = color('--dim');
    pen.fillText('all nodes', 8, height / 2);
    const end = this.timeline.end || 1;
    const [left, right] = [this.from, this.to].map((time) => gutter + time / end * (width - gutter));
    pen.fillStyle = color('--shade');
    pen.fillRect(gutter, 0, left - gutter, height);
    pen.fillRect(right, 0, width - right, height);
    pen.strokeStyle = color('--text');
    pen.lineWidth = 1;
    pen.strokeRect(left + 0.5, 0.5, Math.max(right - left - 1, 2), height - 1);
  }

  mapShares(wide) {
    const kept = this.timeline.mapShares;
    if (kept?.wide === wide) return kept;
    const of = CAUSES.map(() => new Float32Array(wide)), all = new Float32Array(wide);
    const scale = wide / (this.timeline.end || 1);
    // Of very long runs some tracks are enough to see where it waits.
    const step = Math.max(1, Math.floor(this.timeline.count / 1_000_000));
    for (let t = 0; t < this.timeline.tracks.length; t += step) {
      const { begin, end, cause } = this.timeline.slices(this.timeline.tracks[t]);
      for (let n = 0; n < begin.length; n++) {
        const from = begin[n] * scale, to = end[n] * scale;
        for (let column = Math.floor(from); column < to && column < wide; column++) {
          const part = Math.min(to, column + 1) - Math.max(from, column);
          of[cause[n]][column] += part;
          all[column] += part;
        }
      }
    }
    return (this.timeline.mapShares = { wide, of, all });
  }
}

function clipped(pen, text, width) {
  const each = pen.measureText('0').width;
  const room = Math.floor(width / each);
  if (text.length <= room) return text;
  return room < 3 ? '' : `${text.slice(0, room - 1)}…`;
}

// Round numbers between two, about as many as asked for.
function niceSteps(from, to, count) {
  const rough = (to - from) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough);
  const marks = [];
  for (let mark = Math.ceil(from / step) * step; mark <= to; mark += step) marks.push(mark);
  return marks;
}
