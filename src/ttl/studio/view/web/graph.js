// Panel 3: kernels, buffers, tensors and pipes, with what went through them.

class GraphPanel {
  constructor(root, timeline) {
    Object.assign(this, { root, timeline, node: null, showsCalls: Boolean(data.graph) });
    this.grid = element('div', { class: 'gridmap' });
    this.flow = element('div', { class: 'flow scroll' });
    this.tables = element('div', { class: 'scroll tables' });
    root.append(element('div', { class: 'bar' },
      this.allButton = element('button', { onclick: () => { this.showsCalls = false; this.choose(null); } }, 'all nodes'),
      this.callsButton = data.graph ? element('button', { onclick: () => { this.showsCalls = true; this.draw(); } }, 'calls of ttnn') : '', this.caption = element('span', { class: 'dim' })),
    element('div', { class: 'split' }, this.grid, element('div', { class: 'stack' }, this.flow, this.tables)));
    this.draw = onceAFrame(() => this.paint());
  }

  changed() { this.draw(); }
  choose(node) { this.node = node; this.showsCalls = false; this.draw(); }

  // What the events say, added up for the chosen node, or for all of them.
  traffic() {
    const { timeline } = this, key = this.node ?? '*';
    this.known ??= new Map();
    if (!timeline) return null;
    if (this.known.has(key)) return this.known.get(key);
    const sums = { pushes: new Map(), pops: new Map(), reads: new Map(), writes: new Map(), sends: new Map(), receives: new Map(), waits: new Map(), kernels: new Set() };
    const add = (map, name, amount) => { const sum = map.get(name) ?? { times: 0, bytes: 0 }; sum.times++; sum.bytes += amount; map.set(name, sum); };
    for (const track of timeline.tracks) {
      if (this.node !== null && track.nodeText !== this.node) continue;
      sums.kernels.add(track.kernel);
      let reserved = true;
      for (let n = track.first; n < track.first + track.count; n++) {
        const kind = timeline.kinds[timeline.kindOf[timeline.shape[n]]], edge = `${track.kernel}\n${timeline.subject(n)}`;
        if (kind === 'buffer_push') add(sums.pushes, edge, 0);
        else if (kind === 'buffer_pop') add(sums.pops, edge, 0);
        else if (kind === 'buffer_reserve') reserved = true;
        else if (kind === 'buffer_wait') reserved = false;
        else if (kind === 'copy_start') add(reserved ? sums.reads : sums.writes, edge, timeline.values[n]);
        else if (kind === 'pipe_send') add(sums.sends, edge, timeline.values[n]);
        else if (kind === 'pipe_receive') add(sums.receives, edge, timeline.values[n]);
        else if (kind === 'kernel_blocked') this.addWaiting(sums, edge, timeline.causeOf(n, track.first + track.count));
      }
    }
    this.known.set(key, sums);
    return sums;
  }

  // A kernel that never gets what it waits for is at an end of the buffer all the same.
  addWaiting(sums, edge, cause) {
    const side = { [EMPTY]: sums.pops, [FULL]: sums.pushes }[cause];
    if (side && !side.has(edge)) side.set(edge, { times: 0, bytes: 0 });
  }

  // Edges without traffic: what the text of kernels says.
  written() {
    const sums = { pushes: new Map(), pops: new Map(), reads: new Map(), writes: new Map(), sends: new Map(), receives: new Map(), kernels: new Set() };
    for (const kernel of operation()?.kernels ?? []) {
      sums.kernels.add(kernel.name);
      for (const side of ['pushes', 'pops', 'reads', 'writes']) for (const name of kernel[side]) sums[side].set(`${kernel.name}\n${name}`, { times: 0, bytes: 0 });
    }
    return sums;
  }

  paint() {
    const sums = this.traffic() ?? this.written();
    this.allButton.hidden = this.grid.hidden = !sums.kernels.size;
    this.root.classList.toggle('calls', this.showsCalls);
    this.allButton.classList.toggle('on', this.node === null && !this.showsCalls);
    if (data.graph) this.callsButton.classList.toggle('on', this.showsCalls);
    this.caption.textContent = this.showsCalls ? `${data.graph.name}: ${counted(data.graph.calls.length, 'call')}` : this.node !== null ? `node ${this.node}` : this.timeline ? 'what all nodes did, added up' : 'what kernels are written to do';
    this.paintGrid();
    this.flow.replaceChildren(this.showsCalls ? callGraph(data.graph) : flowGraph(sums, this.threadOf()));
    this.paintTables(sums);
  }

  threadOf() {
    const threads = new Map((operation()?.kernels ?? []).map((kernel) => [kernel.name, kernel.thread]));
    return (name) => threads.get(name);
  }

  pipes() {
    const sent = new Map();
    for (const [edge, sum] of (this.allTraffic ??= this.trafficOfAll())?.sends ?? []) {
      const name = edge.split('\n')[1].replace(/^pipe /, '');
      const kept = sent.get(name) ?? { bytes: 0, times: 0 };
      sent.set(name, { bytes: kept.bytes + sum.bytes, times: kept.times + sum.times });
    }
    const declared = new Map((operation()?.pipes ?? []).map((pipe) => [pipe.name, pipe]));
    for (const name of sent.keys()) if (!declared.has(name)) { const read = pipeOf(name); if (read) declared.set(name, read); }
    return [...declared.values()].map((pipe) => ({ ...pipe, sum: sent.get(pipe.name) }));
  }

  trafficOfAll() {
    const kept = this.node;
    this.node = null;
    const sums = this.traffic();
    this.node = kept;
    return sums;
  }

  places() {
    if (this.timeline) return [...new Map(this.timeline.tracks.map((track) => [track.nodeText, track.node])).entries()].map(([text, node]) => [text, node[0] ?? 0, node[1] ?? 0, node.slice(2)]);
    const [first, last] = operation()?.grid ?? [[0, 0], [0, 0]], found = [];
    for (let y = first[1]; y <= last[1]; y++) for (let x = first[0]; x <= last[0]; x++) found.push([`(${x}, ${y})`, x, y, []]);
    return found;
  }

  waitShare(node) {
    this.shares ??= new Map();
    if (!this.timeline) return null;
    if (!this.shares.has(node)) {
      let runs = 0, all = 0;
      for (const track of this.timeline.tracks) {
        if (track.nodeText !== node) continue;
        const { shares } = this.timeline.slices(track);
        runs += shares[RUNS];
        all += shares.reduce((sum, share) => sum + share, 0);
      }
      this.shares.set(node, all ? 1 - runs / all : 0);
    }
    return this.shares.get(node);
  }

  paintGrid() {
    const places = this.places(), CELL = 62, GAP = 26;
    const columns = Math.max(...places.map((place) => place[1])) + 1, rows = Math.max(...places.map((place) => place[2])) + 1;
    const width = columns * (CELL + GAP) + GAP, height = rows * (CELL + GAP) + GAP;
    const left = (x) => GAP + x * (CELL + GAP), middle = (x) => left(x) + CELL / 2;
    const drawing = svg('svg', { viewBox: `0 0 ${width} ${height}`, style: `width:${Math.min(width, 620)}px`, role: 'img', 'aria-label': 'grid of nodes with pipes' });
    for (const [text, x, y] of places) {
      const share = this.waitShare(text);
      const cell = svg('g', { class: `cell${text === this.node ? ' on' : ''}`, tabindex: 0, role: 'button', 'aria-label': `node ${text}`, onclick: () => this.choose(text === this.node ? null : text), onkeydown: (event) => { if (event.key === 'Enter') this.choose(text === this.node ? null : text); } },
        svg('rect', { x: left(x), y: left(y), width: CELL, height: CELL, rx: 5 }));
      if (share !== null) cell.append(svg('rect', { class: 'waits', x: left(x) + 1, y: left(y) + 1 + (CELL - 2) * (1 - share), width: CELL - 2, height: (CELL - 2) * share, rx: 4 }));
      const label = svg('text', { x: middle(x), y: left(y) + 16 });
      label.textContent = text.replace(/[() ]/g, '');
      cell.append(label);
      if (share !== null) { const waits = svg('text', { x: middle(x), y: left(y) + CELL - 9, class: 'small' }); waits.textContent = `${percent(share)} waits`; cell.append(waits); }
      drawing.append(cell);
    }
    const pipes = this.pipes(), most = Math.max(1, ...pipes.map((pipe) => pipe.sum?.bytes ?? 0));
    pipes.forEach((pipe, number) => drawing.append(...pipeArrows(pipe, number, most, middle, left, CELL, this.node)));
    this.grid.replaceChildren(drawing, pipes.length > 400 ? element('p', { class: 'dim' }, `${pipes.length} pipes`) : '');
  }

  paintTables(sums) {
    const sent = [...sums.sends].map(([edge, sum]) => [edge.split('\n')[1], edge.split('\n')[0], sum.times, grouped(sum.bytes)]);
    const copied = [...[...sums.reads].map((each) => [...each, 'read']), ...[...sums.writes].map((each) => [...each, 'write'])]
      .filter(([, sum]) => sum.times).map(([edge, sum, way]) => [edge.split('\n')[1], edge.split('\n')[0], way, sum.times, grouped(sum.bytes)]);
    this.tables.replaceChildren(
      this.timeline ? tableOf(['kernel', 'waits for', 'why', 'times', 'ticks'], this.waits()) : '',
      copied.length ? tableOf(['tensor', 'kernel', 'way', 'copies', 'bytes'], copied) : '',
      sent.length ? tableOf(['pipe', 'kernel', 'sends', 'bytes'], sent) : '',
      data.graph ? tableOf(['input', 'shape', 'type'], data.graph.inputs.map(([id, name]) => [name, data.graph.tensors[id].shape.join(' × '), data.graph.tensors[id].dtype])) : '');
  }

  // Who waited for what, longest first.
  waits() {
    const sums = new Map(), { timeline } = this;
    for (const track of timeline.tracks) {
      if (this.node !== null && track.nodeText !== this.node) continue;
      const { begin, end, cause, event } = timeline.slices(track);
      for (let n = 0; n < begin.length; n++) {
        if (cause[n] === RUNS) continue;
        const key = `${track.kernel}\n${timeline.subject(event[n])}\n${CAUSES[cause[n]].name}`, sum = sums.get(key) ?? [0, 0];
        sums.set(key, [sum[0] + 1, sum[1] + end[n] - begin[n]]);
      }
    }
    return [...sums].sort((one, other) => other[1][1] - one[1][1]).slice(0, 40).map(([key, sum]) => [...key.split('\n'), grouped(sum[0]), grouped(sum[1])]);
  }

  key(event) {
    if (event.key === 'Escape') { this.choose(null); return true; }
    const places = this.places().map(([text]) => text);
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return false;
    const at = this.node === null ? (step > 0 ? -1 : 0) : places.indexOf(this.node);
    this.choose(places[(at + step + places.length) % places.length]);
    return true;
  }
}

// A pipe as traces name it: (0, 0) -> (1:3, 0); ranges end before their second number.
function pipeOf(name) {
  const read = /^\(([^)]*)\) -> \(([^)]*)\)/.exec(name);
  if (!read) return null;
  const source = read[1].split(',').map(Number);
  const ranges = read[2].split(',').map((part) => { const [from, to] = part.split(':').map(Number); return [from, to === undefined ? from : to - 1]; });
  return { name, net: '', source, first: ranges.map((range) => range[0]), last: ranges.map((range) => range[1]) };
}

function pipeArrows(pipe, number, most, middle, left, cell, chosen) {
  const isRange = pipe.first.some((place, n) => place !== pipe.last[n]);
  const [x0, y0] = [middle(pipe.source[0]), middle(pipe.source[1] ?? 0)];
  const [x1, y1] = [0, 1].map((n) => (middle(pipe.first[n] ?? 0) + middle(pipe.last[n] ?? 0)) / 2);
  const size = pipe.sum ? 1.2 + 2.8 * Math.sqrt(pipe.sum.bytes / most) : 1.2;
  const isOff = chosen !== null && chosen !== `(${pipe.source.join(', ')})`;
  const dx = x1 - x0, dy = y1 - y0, length = Math.hypot(dx, dy) || 1;
  const bend = 6 + (number % 3) * 4 + Math.max(0, length - 2 * cell) * 0.3;
  const cut = Math.min(0.42, (cell / 2 + 2) / length);
  const [ax, ay, bx, by] = [x0 + dx * cut, y0 + dy * cut, x1 - dx * cut, y1 - dy * cut];
  const control = [(ax + bx) / 2 - dy / length * bend, (ay + by) / 2 + dx / length * bend];
  const text = `${pipe.net ? `${pipe.net}: ` : ''}${pipe.name}${pipe.sum ? `\n${counted(pipe.sum.times, 'send')}, ${bytes(pipe.sum.bytes)}` : ''}`;
  const made = [];
  if (isRange) {
    const [rx, ry, sx, sy] = [left(pipe.first[0]) - 4, left(pipe.first[1] ?? 0) - 4, left(pipe.last[0]) + cell + 4, left(pipe.last[1] ?? 0) + cell + 4];
    made.push(svg('rect', { class: `receivers${isOff ? ' off' : ''}`, x: rx, y: ry, width: sx - rx, height: sy - ry, rx: 8 }));
  }
  const path = svg('path', { class: `pipe${isOff ? ' off' : ''}`, d: `M${ax} ${ay} Q${control.join(' ')} ${bx} ${by}`, 'stroke-width': size, 'marker-end': 'url(#arrowhead)' });
  path.addEventListener('pointermove', (event) => showTip(event, text.split('\n')));
  path.addEventListener('pointerleave', hideTip);
  return [...made, path];
}

// Tensors, kernels and buffers in the order of data, left to right. A kernel that both reads and
// writes stands on both sides.
function flowGraph(sums, threadOf) {
  const edges = (map) => [...map].map(([edge, sum]) => [...edge.split('\n'), sum]);
  const pushed = edges(sums.pushes), popped = edges(sums.pops), read = edges(sums.reads), written = edges(sums.writes);
  const isCompute = (kernel) => (threadOf(kernel) ?? (pushed.some(([k]) => k === kernel) && popped.some(([k]) => k === kernel) && !read.some(([k]) => k === kernel) && !written.some(([k]) => k === kernel) ? 'compute' : '')) === 'compute';
  const columns = [[], [], [], [], [], [], []], boxes = new Map();
  const put = (place, key, kind, name, note = '') => {
    if (boxes.has(key)) return;
    const box = { key, kind, name, note, column: place, row: columns[place].length };
    columns[place].push(box);
    boxes.set(key, box);
  };
  for (const [kernel, tensor] of read) put(0, `in ${tensor}`, 'tensor', tensor);
  for (const kernel of sums.kernels) {
    if (isCompute(kernel)) put(3, `k ${kernel}`, 'compute', kernel, 'compute');
    else {
      if (pushed.some(([k]) => k === kernel) || read.some(([k]) => k === kernel)) put(1, `in ${kernel} k`, 'movement', kernel, threadOf(kernel) ?? 'data movement');
      if (popped.some(([k]) => k === kernel) || written.some(([k]) => k === kernel)) put(5, `out ${kernel} k`, 'movement', kernel, threadOf(kernel) ?? 'data movement');
      if (!boxes.has(`in ${kernel} k`) && !boxes.has(`out ${kernel} k`)) put(1, `in ${kernel} k`, 'movement', kernel, 'moves nothing');
    }
  }
  const known = new Map((operation()?.buffers ?? []).map((buffer) => [buffer.name, buffer]));
  const places = [...known.keys()]; // buffers stand in the order of the program
  const inOrder = [...pushed, ...popped].sort(([, one], [, other]) => places.indexOf(one) - places.indexOf(other));
  for (const [kernel, buffer] of inOrder) {
    const made = known.get(buffer), note = made ? `${made.block_count} × ${made.block_tiles} tiles` : '';
    const fromCompute = pushed.some(([k, b]) => b === buffer && isCompute(k)), toCompute = popped.some(([k, b]) => b === buffer && isCompute(k));
    put(fromCompute && toCompute ? 3 : fromCompute ? 4 : 2, `b ${buffer}`, made?.compiler ? 'own' : 'buffer', buffer, note);
  }
  for (const [kernel, tensor] of written) put(6, `out ${tensor}`, 'tensor', tensor);
  const links = [];
  const link = (from, to, sum, what) => { if (boxes.has(from) && boxes.has(to)) links.push([boxes.get(from), boxes.get(to), sum, what]); };
  for (const [kernel, tensor, sum] of read) link(`in ${tensor}`, isCompute(kernel) ? `k ${kernel}` : `in ${kernel} k`, sum, 'bytes');
  for (const [kernel, buffer, sum] of pushed) link(isCompute(kernel) ? `k ${kernel}` : `in ${kernel} k`, `b ${buffer}`, sum, 'blocks');
  for (const [kernel, buffer, sum] of popped) link(`b ${buffer}`, isCompute(kernel) ? `k ${kernel}` : `out ${kernel} k`, sum, 'blocks');
  for (const [kernel, tensor, sum] of written) link(isCompute(kernel) ? `k ${kernel}` : `out ${kernel} k`, `out ${tensor}`, sum, 'bytes');
  const notes = new Map();
  for (const [map, word] of [[sums.sends, 'sends'], [sums.receives, 'receives']]) {
    for (const [kernel, , sum] of edges(map)) {
      const key = `${kernel} ${word}`, kept = notes.get(key) ?? { kernel, word, bytes: 0 };
      kept.bytes += sum.bytes;
      notes.set(key, kept);
    }
  }
  return drawFlow(columns.filter((column) => column.length), links, [...notes.values()]);
}

function drawFlow(columns, links, notes) {
  const WIDE = 128, TALL = 44, STEP = 196, ROWS = 82;
  const most = Math.max(...columns.map((column) => column.length), 1);
  const height = most * ROWS + 30, width = columns.length * STEP - (STEP - WIDE) + 8;
  columns.forEach((column, place) => column.forEach((box, row) => { box.x = place * STEP + 4; box.y = 14 + (row + (most - column.length) / 2) * ROWS; }));
  const drawing = svg('svg', { viewBox: `0 0 ${width} ${height}`, style: `max-width:${width}px;min-width:${Math.min(width, 640)}px`, role: 'img', 'aria-label': 'kernels, buffers and tensors' });
  const largest = Math.max(1, ...links.map(([, , sum]) => sum.bytes));
  for (const [from, to, sum, what] of links) {
    const isBack = to.x <= from.x;
    const [x0, y0, x1, y1] = isBack ? [from.x + WIDE / 2, from.y + TALL, to.x + WIDE / 2, to.y] : [from.x + WIDE, from.y + TALL / 2, to.x, to.y + TALL / 2];
    const bend = isBack ? 0 : (x1 - x0) / 2;
    drawing.append(svg('path', { class: 'link', d: `M${x0} ${y0} C${x0 + bend} ${y0} ${x1 - bend} ${y1} ${x1} ${y1}`, 'marker-end': 'url(#arrowhead)', 'stroke-width': 1.2 + 2 * Math.sqrt(sum.bytes / largest) }));
    if (!sum.times) continue;
    const label = svg('text', { class: 'traffic', x: (x0 + x1) / 2, y: (y0 + y1) / 2 - 5 });
    label.textContent = what === 'bytes' ? `${grouped(sum.times)}× ${bytes(sum.bytes)}` : `${counted(sum.times, 'block')}`;
    drawing.append(label);
  }
  for (const box of columns.flat()) {
    const round = { tensor: 2, buffer: 20, own: 20 }[box.kind] ?? 6;
    const group = svg('g', { class: `box ${box.kind}` }, svg('rect', { x: box.x, y: box.y, width: WIDE, height: TALL, rx: round }));
    const lines = [[box.name, 18, ''], [box.note || box.kind, 34, 'small']];
    for (const [text, down, kind] of lines) {
      const label = svg('text', { x: box.x + WIDE / 2, y: box.y + down, class: kind });
      label.textContent = text.length > 18 ? `${text.slice(0, 17)}…` : text;
      group.append(label);
    }
    const own = notes.filter((note) => note.kernel === box.name && box.kind !== 'buffer');
    own.forEach((note, place) => {
      const label = svg('text', { x: box.x + WIDE / 2, y: box.y + TALL + 13 + 12 * place, class: 'small pipes' });
      label.textContent = `${note.word === 'sends' ? '↗' : '↙'} ${note.word} ${bytes(note.bytes)}`;
      group.append(label);
    });
    drawing.append(group);
  }
  return drawing;
}

// Calls of ttnn: each under those whose results it uses; what uses nothing stands over its user.
function callGraph(graph) {
  const by = new Map(), boxes = [], rows = [];
  const add = (box) => { boxes.push(box); for (const id of box.gives) by.set(id, box); };
  for (const [id, name] of graph.inputs) add({ name, kind: 'tensor', gives: [id], uses: [] });
  for (const call of graph.calls) {
    const from = [...new Set(call.uses)].map((id) => by.get(id)).filter(Boolean);
    add({ kind: call.name === 'generic' ? 'compute' : 'movement', ...call, level: 1 + Math.max(-1, ...from.map((box) => box.level ?? 0)), from });
  }
  for (const box of [...boxes].reverse()) {
    if (box.uses.length) continue;
    const users = boxes.filter((user) => user.from?.includes(box));
    box.level = Math.max(0, Math.min(...users.map((user) => user.level), 1) - 1, box.kind === 'tensor' || !users.length ? 0 : Math.min(...users.map((user) => user.level)) - 1);
  }
  for (const box of boxes) (rows[box.level] ??= []).push(box);
  // Each as near to those above it as their order allows.
  const WIDE = 138, TALL = 38, most = Math.max(...rows.map((row) => row?.length ?? 0));
  rows.forEach((row, level) => {
    const middle = (box) => { const from = (box.from ?? []).filter((each) => each.at !== undefined); return from.length ? from.reduce((sum, each) => sum + each.at, 0) / from.length : most / 2; };
    row?.sort((one, other) => middle(one) - middle(other));
    row?.forEach((box, place) => { box.at = place + (most - row.length) / 2; });
  });
  const width = most * (WIDE + 16) + 8, height = rows.length * 66 + 10;
  rows.forEach((row, level) => row?.forEach((box, place) => { box.x = 4 + (place + (most - row.length) / 2) * (WIDE + 16); box.y = 6 + level * 66; }));
  const drawing = svg('svg', { viewBox: `0 0 ${width} ${height}`, style: `width:${width}px;max-width:none`, role: 'img', 'aria-label': 'calls of ttnn' });
  for (const box of boxes) for (const id of box.uses) {
    const from = by.get(id);
    if (!from || from === box) continue;
    const [x0, y0, x1, y1] = [from.x + WIDE / 2, from.y + TALL, box.x + WIDE / 2, box.y];
    drawing.append(svg('path', { class: 'link', d: `M${x0} ${y0} C${x0} ${y0 + 20} ${x1} ${y1 - 20} ${x1} ${y1}`, 'marker-end': 'url(#arrowhead)' }));
  }
  for (const box of boxes) {
    const shape = graph.tensors[box.gives[0]];
    const group = svg('g', { class: `box ${box.kind}` }, svg('rect', { x: box.x, y: box.y, width: WIDE, height: TALL, rx: 5 }));
    for (const [text, down, kind] of [[box.name, 15, ''], [shape ? `${shape.shape.join('×')} ${shape.dtype}` : '', 30, 'small']]) {
      const label = svg('text', { x: box.x + WIDE / 2, y: box.y + down, class: kind });
      label.textContent = text.length > 22 ? `${text.slice(0, 21)}…` : text;
      group.append(label);
    }
    drawing.append(group);
  }
  return drawing;
}
