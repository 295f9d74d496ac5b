// Panel 5: what each line costs by the estimate, and how often it was at work in the run.

class HeatPanel {
  constructor(root, timeline) {
    Object.assign(this, { root, timeline });
    this.summary = element('div', { class: 'summary' });
    this.withWaits = element('input', { type: 'checkbox', onchange: () => this.changed() });
    this.lines = element('div', { class: 'heatlines scroll', tabindex: 0, role: 'region', 'aria-label': 'lines with their costs' });
    this.side = element('div', { class: 'side scroll' });
    root.append(this.summary, element('div', { class: 'split' }, this.lines, this.side));
  }

  // Of the lines of the program: cycles of all threads, and events of the run.
  costs() {
    const costs = new Map();
    const of = (line) => { if (!costs.has(line)) costs.set(line, { busy: 0, waited: 0, share: 0, times: 0, events: 0, bytes: 0, parts: [] }); return costs.get(line); };
    for (const row of operation()?.estimate?.lines ?? []) {
      if (!row.line) continue;
      const cost = of(row.line);
      cost.busy += row.busy;
      cost.waited += row.waited;
      cost.share = Math.max(cost.share, row.share);
      cost.times += row.times;
      cost.parts.push(row);
    }
    for (const [line, sum] of this.counts()) Object.assign(of(line), sum);
    return costs;
  }

  counts() {
    if (this.counted) return this.counted;
    const { timeline } = this, counts = new Map();
    if (!timeline) return (this.counted = counts);
    const perShape = new Float64Array(timeline.shapes.length), moved = new Float64Array(timeline.shapes.length);
    const isMove = timeline.kinds.map((kind) => kind === 'copy_start' || kind === 'pipe_send');
    for (let n = 0; n < timeline.count; n++) {
      const shape = timeline.shape[n];
      perShape[shape]++;
      if (isMove[timeline.kindOf[shape]]) moved[shape] += timeline.values[n];
    }
    timeline.shapes.forEach(([, , line], shape) => {
      if (!line) return;
      const sum = counts.get(line) ?? { events: 0, bytes: 0 };
      sum.events += perShape[shape];
      sum.bytes += moved[shape];
      counts.set(line, sum);
    });
    return (this.counted = counts);
  }

  changed() {
    const costs = this.costs(), { estimate, missing } = operation() ?? {};
    const file = data.mainFile ?? 0, text = data.files[file]?.text ?? '';
    this.showSummary(estimate, missing);
    // Without the program only lines with a cost are worth a row.
    const rows = text ? text.replace(/\n$/, '').split('\n').map((line, place) => [line, place + 1]) : [...costs.keys()].sort((one, other) => one - other).map((line) => ['', line]);
    const most = Math.max(1e-9, ...[...costs.values()].map((cost) => cost.busy + cost.waited));
    this.heatOf = (cost) => (estimate ? cost.busy + (this.withWaits.checked ? cost.waited : 0) : cost.events);
    const hottest = Math.max(1e-9, ...[...costs.values()].map(this.heatOf));
    const head = element('div', { class: 'heatline head' }, ['line', 'share', 'busy', 'waiting', 'calls', 'events', 'bytes', ''].map((name) => element('span', {}, name)));
    this.lines.replaceChildren(head, ...rows.map(([line, number]) => this.row(line, number, costs.get(number), most, hottest, Boolean(estimate))));
    this.lines.classList.toggle('counts', !estimate);
    this.showSide(costs, estimate);
    const first = Math.min(...costs.keys());
    if (Number.isFinite(first) && text) this.lines.scrollTop = Math.max(0, (first - 12) * 17);
  }

  row(text, number, cost, most, hottest, hasEstimate) {
    const numbers = cost ? [cost.busy ? grouped(cost.busy) : '', cost.waited ? grouped(cost.waited) : '', cost.times ? grouped(cost.times) : '', cost.events ? grouped(cost.events) : '', cost.bytes ? bytes(cost.bytes) : ''] : ['', '', '', '', ''];
    const bar = element('span', { class: 'meter' });
    if (cost && hasEstimate) bar.append(element('i', { class: 'busy', style: `width:${cost.busy / most * 100}%` }), element('i', { class: 'waited', style: `width:${cost.waited / most * 100}%` }));
    else if (cost) bar.append(element('i', { class: 'busy', style: `width:${cost.events / hottest * 100}%` }));
    const level = cost ? this.heatOf(cost) / hottest : 0;
    const row = element('div', { class: 'heatline', style: level ? `--heat:${(level * 0.5).toFixed(3)}` : '' },
      element('span', { class: 'dim' }, String(number)), bar, numbers.map((each) => element('span', {}, each)), element('code', {}, highlighted(text, 'python')));
    row.dataset.line = number;
    if (cost) {
      row.addEventListener('click', () => showLine(data.mainFile ?? 0, number));
      row.addEventListener('pointermove', (event) => showTip(event, [`line ${number}: ${hasEstimate ? `${percent(cost.share)} of the time in its slowest thread` : counted(cost.events, 'event')}`,
        ...cost.parts.map((part) => `${part.kernel} ${part.thread}: ${grouped(part.busy)} busy, ${grouped(part.waited)} waiting${part.reason ? ` (${part.reason})` : ''}, ${counted(part.times, 'call')}`)]));
      row.addEventListener('pointerleave', hideTip);
    }
    return row;
  }

  showSummary(estimate, missing) {
    if (!estimate) {
      this.summary.replaceChildren(element('span', { class: 'dim' }, `No estimate${missing ? `: ${missing}` : ''}. Lines are coloured by the events of the run.`));
      return;
    }
    const { best, typical, worst } = estimate.microseconds;
    const digits = (number) => (number >= 100 ? Math.round(number) : Number(number.toPrecision(2)));
    const card = (name, value, note) => element('div', { class: 'card' }, element('small', {}, name), element('b', {}, value), element('small', {}, note));
    this.summary.replaceChildren(
      card('estimated time', `${digits(typical)} µs`, `${digits(best)} to ${digits(worst)}, at ${estimate.clock_ghz} GHz on ${estimate.chip}`),
      card('bound', estimate.bound.split(';')[0], estimate.bound.split(';')[1] ?? ''),
      card('math', `${digits(estimate.tflops)} TFLOP/s`, `${percent(estimate.tflops / estimate.peak_tflops)} of ${digits(estimate.peak_tflops)}`),
      card('DRAM', `${digits(estimate.gbytes_per_second)} GB/s`, `${percent(estimate.gbytes_per_second / estimate.peak_gbytes)} of ${digits(estimate.peak_gbytes)}`),
      card('twice as fast would save', estimate.gains.slice(0, 3).map(([name, share]) => `${name} ${percent(share)}`).join(', '), ''),
      element('label', { class: 'dim', title: 'a thread that waits is not what is slow' }, this.withWaits, 'waiting is heat'));
  }

  showSide(costs, estimate) {
    const parts = [];
    if (estimate) {
      parts.push(element('h3', {}, 'Threads'), tableOf(['kernel', 'thread', 'busy', 'waits for'], estimate.threads.map((thread) =>
        [thread.kernel, thread.thread, percent(thread.busy), thread.waits.slice(0, 2).map(([reason, share]) => `${reason} ${percent(share)}`).join(', ')])));
      if (estimate.changes.length) parts.push(element('h3', {}, 'Worth a try, by the model'), element('ul', {}, estimate.changes.map((change) => element('li', {}, change.text))));
    }
    const hot = [...costs].sort(([, one], [, other]) => this.heatOf(other) - this.heatOf(one)).slice(0, 12);
    parts.push(element('h3', {}, 'Hottest lines'), element('ol', { class: 'hot' }, hot.map(([line, cost]) => element('li', {},
      element('button', { class: 'link', onclick: () => this.go(line) }, `${line}`), ` ${estimate ? `${grouped(this.heatOf(cost))} cycles` : counted(cost.events, 'event')} `, element('code', {}, sourceLine(data.mainFile, line))))));
    if (estimate?.unknown?.length) parts.push(element('h3', {}, 'Not known to the model'), element('ul', { class: 'dim' }, estimate.unknown.map((each) => element('li', {}, each))));
    this.side.replaceChildren(...parts);
  }

  go(line) { this.lines.querySelector(`[data-line="${line}"]`)?.scrollIntoView({ block: 'center' }); }

  search(query) {
    let count = 0;
    for (const row of this.lines.children) {
      const isFound = Boolean(query) && row.textContent.toLowerCase().includes(query.toLowerCase());
      row.classList.toggle('found', isFound);
      if (isFound && !count++) row.scrollIntoView({ block: 'center' });
    }
    return query ? counted(count, 'line') : '';
  }

  key() { return false; }
}
