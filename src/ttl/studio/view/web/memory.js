// Panel 2: the L1 of a node: what lies where, and how full its buffers are when.

const TOP = 22;
const REGION_COLORS = { buffer: '--buffer', compiler: '--compiler', tensor: '--tensor', pipes: '--semaphore', free: '--free' };

class MemoryPanel {
  constructor(root, timeline) {
    Object.assign(this, { root, timeline, node: 0, at: null });
    this.draw = onceAFrame(() => this.paint());
    this.nodes = timeline ? [...new Set(timeline.tracks.map((track) => track.nodeText))] : ['every node'];
    this.choice = element('select', { 'aria-label': 'node', onchange: () => { this.node = this.choice.selectedIndex; this.levels = null; this.draw(); } },
      this.nodes.map((node) => element('option', {}, timeline ? `node ${node}` : node)));
    this.sum = element('span', { class: 'dim' });
    root.append(
      element('div', { class: 'bar' }, this.choice, this.sum, element('div', { class: 'legend' },
        [['buffer', 'dataflow buffer'], ['compiler', "compiler's buffer"], ['tensor', 'tensor'], ['free', 'free']].map(([kind, name]) =>
          element('span', {}, element('i', { class: `region ${kind}` }), name)),
        element('span', {}, element('i', { class: 'region filled' }), 'filled'), element('span', {}, element('i', { class: 'region reserved' }), 'reserved'))),
      this.canvas = element('canvas', { class: 'memory', tabindex: 0, role: 'img', 'aria-label': 'L1 over time' }),
      this.table = element('div', { class: 'scroll' }));
    this.canvas.addEventListener('pointermove', (event) => this.hover(event));
    this.canvas.addEventListener('pointerleave', () => { this.at = null; hideTip(); this.draw(); });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  // Regions of the chosen operation; of a trace alone, the buffers that it names.
  regions() {
    const l1 = operation()?.l1;
    const place = this.nodes[this.node];
    const isHere = (region) => !region.cores?.length || region.cores.some(([first, last]) => {
      const [x, y] = place.replace(/[()]/g, '').split(',').map(Number);
      return x >= first[0] && x <= last[0] && y >= first[1] && y <= last[1];
    });
    if (l1) return { total: l1.bytes, regions: l1.regions.filter(isHere), isKnown: true };
    const names = [...new Set((this.timeline?.shapes ?? []).filter((shape) => this.timeline.kinds[shape[0]].startsWith('buffer')).map((shape) => shape[1]))];
    return { total: 0, regions: names.map((name) => ({ kind: 'buffer', name, bytes: 0, start: 0 })), isKnown: false };
  }

  blocks(region) { return operation()?.buffers?.[region.buffer]?.block_count ?? null; }

  // How many blocks of each buffer are filled, and reserved, after each event of the node.
  levelsOf() {
    if (this.levels) return this.levels;
    const levels = new Map(), { timeline } = this;
    const events = [];
    for (const track of timeline?.tracks ?? []) {
      if (track.nodeText !== this.nodes[this.node]) continue;
      for (let n = track.first; n < track.first + track.count; n++) {
        const kind = timeline.kinds[timeline.kindOf[timeline.shape[n]]];
        if (kind.startsWith('buffer_')) events.push([timeline.ticks[n], kind, timeline.subject(n), timeline.values[n]]);
      }
    }
    events.sort((one, other) => one[0] - other[0]);
    for (const [tick, kind, name, value] of events) {
      if (!levels.has(name)) levels.set(name, { ticks: [0], filled: [0], reserved: [0], most: 0, pushes: 0 });
      const level = levels.get(name);
      level.ticks.push(tick);
      level.filled.push(value);
      const before = level.reserved.at(-1);
      level.reserved.push(kind === 'buffer_reserve' ? 1 : kind === 'buffer_push' ? 0 : before);
      level.most = Math.max(level.most, value);
      if (kind === 'buffer_push') level.pushes++;
    }
    return (this.levels = levels);
  }

  changed() { this.levels = null; this.draw(); }

  paint() {
    if (!this.canvas.clientWidth) return;
    const { regions, total, isKnown } = this.regions();
    const gutter = Math.min(250, this.canvas.clientWidth * 0.4), levels = this.levelsOf();
    const heights = this.heightsOf(regions);
    const wanted = heights.reduce((sum, height) => sum + height + 4, TOP + 6);
    this.canvas.style.height = `${wanted}px`;
    const { pen, width, height } = sized(this.canvas);
    this.rowsAt = [];
    this.geometry = { gutter, width };
    if (this.timeline) this.paintAxis(pen, gutter, width, height);
    else { pen.fillStyle = color('--dim'); pen.fillText('no trace: what is allocated, not how full it is', gutter + 6, 10); }
    if (isKnown) this.paintScale(pen, regions, total, height);
    let y = TOP;
    regions.forEach((region, place) => {
      this.paintRegion(pen, region, y, heights[place], gutter, width, levels.get(region.name));
      this.rowsAt.push({ region, y, height: heights[place], level: levels.get(region.name) });
      y += heights[place] + 4;
    });
    if (this.at !== null) { pen.fillStyle = color('--text'); pen.fillRect(this.at, TOP - 6, 1, height); }
    this.showTable(regions, total, levels, isKnown);
  }

  // The larger a region the higher its row, but all can be seen; few have more room.
  heightsOf(regions) {
    const isFlat = (region) => region.kind !== 'buffer' && !this.levelsOf().has(region.name);
    const rows = regions.map((region) => (isFlat(region) ? 30 : Math.max(34, Math.min(110, Math.sqrt(region.bytes) / 2.4 || 46))));
    const sum = rows.reduce((all, height) => all + height, 0), room = this.root.clientHeight * 0.55 - TOP;
    const factor = this.timeline ? Math.max(1, Math.min(2.2, room / sum)) : 1;
    return rows.map((height, place) => (isFlat(regions[place]) ? height : height * factor));
  }

  x(tick) { return this.geometry.gutter + tick / this.timeline.end * (this.geometry.width - this.geometry.gutter); }

  paintAxis(pen, gutter, width, height) {
    pen.fillStyle = color('--dim');
    pen.strokeStyle = color('--grid');
    for (const mark of niceSteps(0, this.timeline.end, (width - gutter) / 90)) {
      const x = Math.round(this.x(mark)) + 0.5;
      pen.beginPath(); pen.moveTo(x, TOP - 5); pen.lineTo(x, height); pen.stroke();
      pen.fillText(grouped(mark), x + 3, 9);
    }
  }

  // The whole of L1 to scale.
  paintScale(pen, regions, total, height) {
    const tall = height - TOP - 6;
    pen.fillStyle = color('--dim');
    pen.fillText('L1', 6, 9);
    for (const region of regions) {
      pen.fillStyle = color(REGION_COLORS[region.kind]);
      pen.fillRect(6, TOP + region.start / total * tall, 16, Math.max(region.bytes / total * tall - 0.5, 0.5));
    }
    pen.strokeStyle = color('--grid');
    pen.strokeRect(6.5, TOP + 0.5, 15, tall);
  }

  paintRegion(pen, region, y, height, gutter, width, level) {
    const blocks = this.blocks(region), buffer = operation()?.buffers?.[region.buffer];
    pen.fillStyle = color(REGION_COLORS[region.kind]);
    pen.fillRect(30, y, 5, height);
    pen.fillStyle = color('--text');
    pen.fillText(clipped(pen, region.name, gutter - 46), 41, y + 11);
    pen.fillStyle = color('--dim');
    const size = region.bytes ? bytes(region.bytes) : '';
    const shape = buffer ? `  ${buffer.block_count} × ${counted(buffer.block_tiles, 'tile')} ${buffer.format}` : '';
    pen.fillText(clipped(pen, size + shape, gutter - 46), 41, y + 25);
    pen.fillStyle = color('--lane');
    pen.fillRect(gutter, y, width - gutter, height);
    if (level && this.timeline) this.paintLevel(pen, region, level, blocks ?? level.most, y, height, width);
    else { pen.globalAlpha = region.kind === 'free' ? 1 : 0.35; pen.fillStyle = color(REGION_COLORS[region.kind]); pen.fillRect(gutter, y, width - gutter, height); pen.globalAlpha = 1; }
    if (blocks > 1 && blocks < 12) {
      pen.fillStyle = color('--grid');
      for (let block = 1; block < blocks; block++) pen.fillRect(gutter, y + height * block / blocks, width - gutter, 1);
    }
  }

  paintLevel(pen, region, level, most, y, height, width) {
    const each = height / Math.max(most, 1), { ticks, filled, reserved } = level;
    const pattern = patternOf(pen, EMPTY);
    // Within a pixel the highest level counts.
    let pixel = this.geometry.gutter, high = 0, held = 0;
    const put = (left, right) => {
      const from = Math.round(left), to = Math.round(right); // no seams between them
      if (high) { pen.fillStyle = color(REGION_COLORS[region.kind]); pen.fillRect(from, y + height - high * each, to - from, high * each); }
      if (held && high < most) {
        pen.globalAlpha = 0.45; pen.fillStyle = color(REGION_COLORS[region.kind]); pen.fillRect(from, y + height - (high + 1) * each, to - from, each);
        pen.globalAlpha = 1; pen.fillStyle = pattern; pen.fillRect(from, y + height - (high + 1) * each, to - from, each);
      }
    };
    for (let n = 0; n < ticks.length; n++) {
      const x = this.x(ticks[n]), next = n + 1 < ticks.length ? this.x(ticks[n + 1]) : width;
      high = Math.max(high, filled[n]); held = Math.max(held, reserved[n]);
      if (next - pixel < 1) continue;
      put(pixel, next);
      pixel = next; high = held = 0;
      if (x > width) break;
    }
    if (region.kind === 'compiler') { pen.fillStyle = patternOf(pen, EMPTY); pen.fillRect(this.geometry.gutter, y, 6, height); }
  }

  hover(event) {
    const row = this.rowsAt?.find(({ y, height }) => event.offsetY >= y && event.offsetY < y + height);
    const { gutter, width } = this.geometry;
    this.at = this.timeline && event.offsetX > gutter ? event.offsetX : null;
    this.draw();
    if (!row) { hideTip(); return; }
    const { region, level } = row;
    const lines = [`${region.name}: ${region.kind === 'compiler' ? "compiler's buffer" : region.kind}`];
    if (region.bytes) lines.push(`${grouped(region.bytes)} B at ${grouped(region.start)}`);
    if (level && this.at !== null) {
      const tick = (event.offsetX - gutter) / (width - gutter) * this.timeline.end;
      const n = Math.max(0, firstAfter(level.ticks, tick) - 1);
      lines.push(`at ${grouped(tick)}: ${level.filled[n]} of ${this.blocks(region) ?? '?'} blocks filled${level.reserved[n] ? ', one reserved' : ''}`);
      lines.push(`most: ${level.most}; pushed ${level.pushes} times`);
    }
    showTip(event, lines);
  }

  showTable(regions, total, levels, isKnown) {
    const used = regions.filter((region) => region.kind !== 'free').reduce((sum, region) => sum + region.bytes, 0);
    this.sum.textContent = isKnown ? `${bytes(used)} of ${bytes(total)} used (${percent(used / total)})` : 'sizes are not in a trace';
    const rows = regions.filter((region) => region.kind !== 'free').map((region) => {
      const level = levels.get(region.name), blocks = this.blocks(region);
      const note = level && blocks && level.most < blocks ? `never more than ${level.most} of ${blocks} blocks` : '';
      return [region.name, region.kind, region.bytes ? grouped(region.bytes) : '', region.bytes ? grouped(region.start) : '', blocks ?? '', level ? level.most : '', level ? level.pushes : '', note];
    });
    this.table.replaceChildren(tableOf(['name', 'kind', 'bytes', 'address', 'blocks', 'most filled', 'pushes', ''], rows));
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, a: -1, d: 1 }[event.key];
    if (!step) return false;
    this.node = this.choice.selectedIndex = (this.node + step + this.nodes.length) % this.nodes.length;
    this.changed();
    return true;
  }
}

function tableOf(columns, rows) {
  const isNumber = (cell) => typeof cell === 'number' || /^[\d\u202f.,%]+$/.test(cell);
  return element('table', {},
    element('thead', {}, element('tr', {}, columns.map((column) => element('th', {}, column)))),
    element('tbody', {}, rows.map((row) => element('tr', {}, row.map((cell) =>
      element('td', { class: isNumber(cell) ? 'number' : '' }, cell instanceof Node ? cell : String(cell)))))));
}
