// Panel 1: what each kernel on each node does when, and what it waits for.

class TimelinePanel extends TimelineCanvas {
  constructor(root, sources) {
    super();
    this.root = root;
    this.sources = sources; // [{name, load}]
    this.closed = new Set();
    this.selected = null;
    this.scroll = 0;
    this.draw = onceAFrame(() => this.paint());
    this.build();
  }

  build() {
    this.choice = element('select', { 'aria-label': 'times', onchange: () => this.open(this.choice.selectedIndex) },
      this.sources.map((source) => element('option', {}, source.name)));
    this.arrowsShown = element('input', { type: 'checkbox', checked: true, onchange: () => this.draw() });
    this.legend = element('div', { class: 'legend' }, CAUSES.map((cause, number) =>
      element('span', { title: cause.name }, swatch(number), cause.name)));
    const button = (text, title, action) => element('button', { title, 'aria-label': title, onclick: action }, text);
    this.root.append(
      element('div', { class: 'bar' },
        this.choice,
        element('span', { class: 'group' },
          button('−', 'zoom out (s)', () => this.zoom(2)), button('+', 'zoom in (w)', () => this.zoom(0.5)),
          button('fit', 'all (0)', () => this.fit()), button('⊟', 'close or open all nodes (c)', () => this.closeAll())),
        element('label', {}, this.arrowsShown, 'pipes'),
        this.legend),
      this.map = element('canvas', { class: 'minimap', 'aria-hidden': 'true' }),
      this.canvas = element('canvas', { class: 'tracks', tabindex: 0, role: 'img', 'aria-label': 'timeline' }),
      this.details = element('div', { class: 'details', 'aria-live': 'polite' }));
    this.listen();
    new ResizeObserver(() => { if (this.timeline) this.layout(); this.draw(); }).observe(this.canvas);
  }

  async open(place) {
    const source = this.sources[place];
    source.timeline ??= await source.load();
    this.timeline = source.timeline;
    this.choice.selectedIndex = place;
    this.selected = null;
    if (this.timeline.tracks.length > 60 && !source.wasOpened) this.closed = new Set();
    source.wasOpened = true;
    this.matches = null;
    this.layout();
    this.fit();
    this.showDetails();
  }

  fit() { this.from = 0; this.to = Math.max(this.timeline.end, 1e-9); this.draw(); }

  zoom(factor, at = (this.from + this.to) / 2) {
    const least = this.timeline.unit === 'tick' ? 8 : 0.01;
    const span = Math.min(Math.max(this.span * factor, least), this.timeline.end || 1);
    const share = (at - this.from) / this.span;
    this.from = at - share * span;
    this.to = this.from + span;
    this.keepInside();
  }

  pan(share) { const step = this.span * share; this.from += step; this.to += step; this.keepInside(); }

  keepInside() {
    const span = this.span;
    if (this.to > this.timeline.end) { this.to = this.timeline.end; this.from = this.to - span; }
    if (this.from < 0) { this.from = 0; this.to = Math.min(span, this.timeline.end || 1); }
    this.draw();
  }

  closeAll() {
    const nodes = new Set(this.timeline.tracks.map((track) => track.nodeText));
    this.closed = this.closed.size ? new Set() : nodes;
    this.scroll = 0;
    this.layout();
    this.draw();
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) this.zoom(1.0015 ** event.deltaY, this.time(event.offsetX));
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan((event.deltaX || event.deltaY) / 1000);
      else { this.scroll += event.deltaY; this.draw(); }
    }, { passive: false });
    canvas.addEventListener('pointerdown', (event) => this.press(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.release(event));
    canvas.addEventListener('pointerleave', hideTip);
    canvas.addEventListener('dblclick', () => this.zoomToSelected());
    this.map.addEventListener('pointerdown', (event) => this.pressMap(event));
    this.map.addEventListener('pointermove', (event) => { if (event.buttons) this.pressMap(event); });
  }

  press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pressed = { x: event.offsetX, y: event.offsetY, from: this.from, to: this.to, scroll: this.scroll, moved: false };
  }

  move(event) {
    const { pressed } = this;
    if (!pressed) { this.hover(event); return; }
    const dx = event.offsetX - pressed.x, dy = event.offsetY - pressed.y;
    if (Math.abs(dx) + Math.abs(dy) < 4 && !pressed.moved) return;
    pressed.moved = true;
    hideTip();
    const time = dx / (this.width - this.gutter) * (pressed.to - pressed.from);
    this.from = pressed.from - time;
    this.to = pressed.to - time;
    this.scroll = pressed.scroll - dy;
    this.keepInside();
  }

  release(event) {
    const { pressed } = this;
    this.pressed = null;
    if (!pressed || pressed.moved) return;
    const row = this.rowAt(event.offsetY);
    if (row && !row.track) {
      if (!this.closed.delete(row.node)) this.closed.add(row.node);
      this.layout();
      this.draw();
      return;
    }
    this.select(this.hit(event));
  }

  pressMap(event) {
    const gutter = this.gutter;
    const middle = (event.offsetX - gutter) / (this.map.clientWidth - gutter) * this.timeline.end;
    const half = this.span / 2;
    this.from = middle - half;
    this.to = middle + half;
    this.keepInside();
  }

  rowAt(y) { return this.rows.find((row) => y >= row.y - this.scroll + AXIS && y < row.y - this.scroll + AXIS + row.height); }

  hit(event) {
    const row = this.rowAt(event.offsetY);
    if (!row?.track || event.offsetX < this.gutter || event.offsetY < AXIS) return null;
    const time = this.time(event.offsetX), slack = 1 / this.scale;
    const inLane = event.offsetY > row.y - this.scroll + AXIS + row.height - LANE - 2;
    const transfer = inLane ? this.transferAt(row.track, time, slack) : null;
    if (transfer) return { track: row.track, transfer };
    const slices = this.timeline.slices(row.track);
    const n = firstAfter(slices.end, time);
    return n < slices.begin.length && slices.begin[n] <= time + slack ? { track: row.track, n } : null;
  }

  transferAt(track, time, slack) {
    const { begin, end, event } = this.timeline.transfers(track);
    for (let n = firstAfter(begin, time + slack) - 1; n >= 0; n--) {
      if (end[n] + slack >= time) return { begin: begin[n], end: end[n], event: event[n] };
    }
    return null;
  }

  hover(event) {
    const found = this.hit(event);
    const row = this.rowAt(event.offsetY);
    if (found) showTip(event, this.linesOf(found).map(([, text]) => text));
    else if (row?.track && event.offsetX < this.gutter) showTip(event, this.sharesText(row.track));
    else hideTip();
  }

  sharesText(track) {
    const { shares } = this.timeline.slices(track);
    const all = shares.reduce((sum, share) => sum + share, 0) || 1;
    const parts = [...shares].map((share, cause) => [share / all, CAUSES[cause].name]).filter(([share]) => share > 0);
    return [`${track.kernel} on node ${track.nodeText}`, ...parts.sort((one, other) => other[0] - one[0]).map(([share, name]) => `${percent(share).padStart(5)}  ${name}`)];
  }

  // What is known of a slice or a transfer: pairs of a name and a text.
  linesOf({ track, n, transfer }) {
    const timeline = this.timeline, slices = timeline.slices(track);
    const event = transfer ? transfer.event : slices.event[n];
    const [begin, end] = transfer ? [transfer.begin, transfer.end] : [slices.begin[n], slices.end[n]];
    const line = timeline.line(event);
    const unit = timeline.unit === 'tick' ? 'ticks' : timeline.unit;
    const value = timeline.values[event];
    const rows = [
      ['what', transfer ? timeline.text(event) : timeline.title(track, slices, n)],
      ['where', `${track.kernel} on node ${track.nodeText}`],
      ['when', `${timeline.timeText(begin)} to ${timeline.timeText(end)}: ${timeline.timeText(end - begin)} ${unit}`],
    ];
    if (transfer) rows.push(['bytes', bytes(value)]);
    if (line) rows.push(['line', `${line}  ${sourceLine(data.mainFile, line)}`]);
    return rows;
  }

  select(found) {
    this.selected = found;
    if (found) {
      const event = found.transfer ? found.transfer.event : this.timeline.slices(found.track).event[found.n];
      const subject = this.timeline.subject(event);
      if (subject.startsWith('pipe ')) found.pipe = subject;
      found.line = this.timeline.line(event);
    }
    this.showDetails();
    this.draw();
  }

  showDetails() {
    const found = this.selected;
    if (!found) {
      const { tracks, count, unit } = this.timeline;
      const nodes = new Set(tracks.map((track) => track.nodeText)).size;
      this.details.replaceChildren(element('span', { class: 'dim' },
        `${counted(nodes, 'node')}, ${counted(tracks.length, 'track')}, ${counted(count, this.timeline.kinds ? 'event' : 'step')}. `,
        unit === 'tick' ? 'The axis counts events: it shows their order, not how long they take. ' : `${this.timeline.kinds ? 'Times' : 'One node of each kind; times'} are those of the model. `,
        'Drag to move, Ctrl+wheel to zoom, click for details, ? for keys.'));
      return;
    }
    const rows = this.linesOf(found).map(([name, text]) => element('span', {}, element('b', {}, `${name} `), element('code', {}, text)));
    this.details.replaceChildren(...rows,
      found.line ? element('button', { onclick: () => showLine(data.mainFile, found.line) }, 'show in code (Enter)') : '',
      element('button', { onclick: () => this.zoomToSelected() }, 'zoom (z)'));
  }

  zoomToSelected() {
    const found = this.selected;
    if (!found) return;
    const slices = this.timeline.slices(found.track);
    const [begin, end] = found.transfer ? [found.transfer.begin, found.transfer.end] : [slices.begin[found.n], slices.end[found.n]];
    const margin = Math.max((end - begin) * 1.5, this.timeline.unit === 'tick' ? 6 : 0.02);
    this.from = begin - margin;
    this.to = end + margin;
    this.keepInside();
  }

  search(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    this.matches = words.length ? new Map() : null;
    this.found = [];
    for (const track of words.length ? this.timeline.tracks : []) {
      const slices = this.timeline.slices(track), own = [];
      const where = `${track.kernel} node ${track.nodeText}`.toLowerCase();
      const known = new Map();
      for (let n = 0; n < slices.begin.length; n++) {
        const key = `${this.timeline.shape[slices.event[n]]} ${slices.cause[n]}`;
        if (!known.has(key)) {
          const text = `${where} ${this.timeline.title(track, slices, n)} line ${this.timeline.line(slices.event[n])}`.toLowerCase();
          known.set(key, words.every((word) => text.includes(word)));
        }
        if (known.get(key)) { own.push(n); this.found.push({ track, n }); }
      }
      if (own.length) this.matches.set(track, own);
    }
    this.found.sort((one, other) => this.timeline.slices(one.track).begin[one.n] - this.timeline.slices(other.track).begin[other.n]);
    this.foundAt = -1;
    this.draw();
    return words.length ? counted(this.found.length, 'match').replace('matchs', 'matches') : '';
  }

  next(step) {
    if (!this.found?.length) { this.step(step); return; }
    this.foundAt = (this.foundAt + step + this.found.length) % this.found.length;
    this.go(this.found[this.foundAt]);
  }

  // The slice after the selected one, or before it.
  step(step) {
    const track = this.selected?.track ?? this.timeline.tracks[0];
    const n = Math.max(0, Math.min((this.selected?.n ?? -step) + step, this.timeline.slices(track).begin.length - 1));
    this.go({ track, n });
  }

  go(found) {
    if (this.closed.delete(found.track.nodeText)) this.layout();
    const y = this.rowOf.get(this.timeline.tracks.indexOf(found.track));
    if (y < this.scroll || y > this.scroll + this.canvas.clientHeight - AXIS - this.rowHeight) this.scroll = y - 60;
    const slices = this.timeline.slices(found.track);
    const middle = (slices.begin[found.n] + slices.end[found.n]) / 2;
    if (middle < this.from || middle > this.to) {
      const half = this.span / 2;
      this.from = middle - half;
      this.to = middle + half;
    }
    this.select(found);
    this.keepInside();
  }

  key(event) {
    const actions = {
      w: () => this.zoom(0.5), '+': () => this.zoom(0.5), '=': () => this.zoom(0.5),
      s: () => this.zoom(2), '-': () => this.zoom(2), 0: () => this.fit(), c: () => this.closeAll(),
      a: () => this.pan(-0.25), d: () => this.pan(0.25), ArrowLeft: () => this.pan(-0.1), ArrowRight: () => this.pan(0.1),
      ArrowUp: () => { this.scroll -= 3 * this.rowHeight; this.draw(); }, ArrowDown: () => { this.scroll += 3 * this.rowHeight; this.draw(); },
      PageUp: () => { this.scroll -= 300; this.draw(); }, PageDown: () => { this.scroll += 300; this.draw(); },
      n: () => this.next(1), N: () => this.next(-1), p: () => { this.arrowsShown.click(); }, z: () => this.zoomToSelected(),
      e: () => { if (this.sources.length > 1) this.open((this.choice.selectedIndex + 1) % this.sources.length); },
      Escape: () => this.select(null), Enter: () => { if (this.selected?.line) showLine(data.mainFile, this.selected.line); },
    };
    const action = actions[event.key];
    if (action) action();
    return Boolean(action);
  }
}
