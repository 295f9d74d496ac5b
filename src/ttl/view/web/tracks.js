// Events of a trace, or steps of an estimate, as slices of tracks.

class Track {
  constructor(node, kernel, first, count) {
    Object.assign(this, { node, kernel, first, count, made: null });
    this.nodeText = nodeText(node);
  }
}

// A timeline has tracks, an end, and texts for its times and slices. `slices(track)` has sorted
// columns: begin, end, cause, event (its number among all), and `shares`: time of each cause.
class TraceTimeline {
  static async load(trace) {
    const packed = await unpacked(trace.blob);
    return new TraceTimeline(trace, packed);
  }

  constructor(trace, packed) {
    const count = trace.tracks.reduce((sum, track) => sum + track.count, 0);
    this.shapes = trace.shapes;
    this.kinds = trace.kinds;
    this.kindOf = Uint8Array.from(trace.shapes, (shape) => shape[0]);
    this.end = trace.end;
    this.count = count;
    this.unit = 'tick';
    this.ticks = column(packed, 0, count);
    this.shape = column(packed, 1, count);
    this.values = column(packed, 2, count);
    let first = 0;
    const all = trace.tracks.map((track) => {
      const made = new Track(track.node, track.kernel, first, track.count);
      for (let n = first + 1; n < first + track.count; n++) this.ticks[n] += this.ticks[n - 1];
      first += track.count;
      return made;
    });
    this.calls = this.callsOf(all.find((track) => !track.kernel));
    const order = (track) => track.node.reduce((sum, place, n) => sum + place * 1000 ** n, 0);
    this.tracks = all.filter((track) => track.kernel);
    this.tracks.forEach((track, place) => { track.place = place; });
    this.tracks.sort((one, other) => order(one) - order(other) || one.place - other.place);
    this.semaphores = new Set(trace.shapes.filter((shape) => this.kinds[shape[0]].startsWith('semaphore')).map((shape) => shape[1]));
  }

  kind(name) { return this.kinds.indexOf(name); }
  subject(event) { return this.shapes[this.shape[event]][1]; }
  line(event) { return this.shapes[this.shape[event]][2]; }
  timeText(time) { return grouped(time); }

  // Of operations: [name, begin, end].
  callsOf(track) {
    const calls = [];
    if (!track) return calls;
    for (let n = track.first; n < track.first + track.count; n++) {
      if (this.kinds[this.kindOf[this.shape[n]]] === 'operation_start') calls.push([this.subject(n), this.ticks[n], this.end]);
      else if (calls.length) calls.at(-1)[2] = this.ticks[n];
    }
    return calls;
  }

  causeOf(blocked, last) {
    const subject = this.subject(blocked);
    if (subject.startsWith('pipe ')) return PIPE;
    if (this.semaphores.has(subject)) return SEMAPHORE;
    const reserve = this.kind('buffer_reserve');
    for (let n = blocked + 1; n < Math.min(blocked + 4, last); n++) {
      const kind = this.kindOf[this.shape[n]];
      if (kind === reserve || kind === this.kind('buffer_wait')) return kind === reserve ? FULL : EMPTY;
    }
    return this.values[blocked] > 0 ? FULL : EMPTY;
  }

  slices(track) {
    return (track.made ??= this.make(track));
  }

  make(track) {
    const [start, ended, blocked, resumed] = ['kernel_start', 'kernel_end', 'kernel_blocked', 'kernel_resumed'].map((name) => this.kind(name));
    const last = track.first + track.count;
    const begin = [], end = [], cause = [], event = [];
    const add = (from, to, why, what) => { begin.push(from); end.push(to); cause.push(why); event.push(what); };
    let since = -1, from = 0;
    for (let n = track.first; n < last; n++) {
      const kind = this.kindOf[this.shape[n]], tick = this.ticks[n];
      if (kind === start) { since = tick; from = n; }
      else if (kind === blocked) {
        if (since >= 0 && tick > since) add(since, tick, RUNS, from);
        since = tick; from = n;
      } else if (kind === resumed || kind === ended) {
        const why = kind === resumed ? this.causeOf(from, last) : RUNS;
        if (since >= 0) add(since, Math.max(tick, since + 1), why, from);
        since = kind === ended ? -1 : tick; from = n;
      }
    }
    if (since >= 0) add(since, this.end, this.kindOf[this.shape[from]] === blocked ? this.causeOf(from, last) : RUNS, from);
    return finished(begin, end, cause, event);
  }

  // Copies and transfers through pipes: they go on while their kernel does something else.
  transfers(track) {
    if (track.transfers) return track.transfers;
    const ends = new Map([['copy_start', 'copy_end'], ['pipe_send', 'pipe_send_end'], ['pipe_receive', 'pipe_receive_end']]
      .map(([one, other]) => [this.kind(one), this.kind(other)]));
    const starts = new Map([...ends].map(([one, other]) => [other, one]));
    const open = new Map();
    const found = [];
    for (let n = track.first; n < track.first + track.count; n++) {
      const kind = this.kindOf[this.shape[n]];
      if (ends.has(kind)) {
        const transfer = { begin: this.ticks[n], end: -1, event: n, isPipe: kind !== this.kind('copy_start') };
        const key = `${kind} ${this.subject(n)}`;
        if (!open.has(key)) open.set(key, []);
        open.get(key).push(transfer);
        found.push(transfer);
      } else if (starts.has(kind)) {
        const transfer = open.get(`${starts.get(kind)} ${this.subject(n)}`)?.shift();
        if (transfer) transfer.end = this.ticks[n];
      }
    }
    for (const transfer of found) if (transfer.end < 0) transfer.end = this.end;
    return (track.transfers = found);
  }

  title(track, slices, n) {
    const why = slices.cause[n], event = slices.event[n];
    if (why === RUNS) return `${track.kernel} runs`;
    return `waits: ${CAUSES[why].name}, ${this.subject(event)}`;
  }

  label(track, slices, n) {
    return slices.cause[n] === RUNS ? '' : this.subject(slices.event[n]);
  }

  text(event) {
    return `${this.kinds[this.kindOf[this.shape[event]]].replaceAll('_', ' ')} ${this.subject(event)}`;
  }

  // Arrows of pipes: the n-th send of a pipe goes to the n-th receive of each of its receivers.
  arrows() {
    if (this.arrowsMade) return this.arrowsMade;
    const [send, received] = [this.kind('pipe_send'), this.kind('pipe_receive_end')];
    const sends = new Map(), receives = new Map();
    const put = (map, key, value) => { if (!map.has(key)) map.set(key, []); map.get(key).push(value); };
    this.tracks.forEach((track, row) => {
      for (let n = track.first; n < track.first + track.count; n++) {
        const kind = this.kindOf[this.shape[n]];
        if (kind === send) put(sends, this.subject(n), { row, time: this.ticks[n], event: n });
        else if (kind === received) put(receives, `${row} ${this.subject(n)}`, { row, time: this.ticks[n] });
      }
    });
    const arrows = [];
    for (const [key, list] of receives) {
      const from = sends.get(key.slice(key.indexOf(' ') + 1)) ?? [];
      list.forEach((to, n) => { if (from[n]) arrows.push({ from: from[n], to, pipe: key.slice(key.indexOf(' ') + 1) }); });
    }
    arrows.sort((one, other) => one.from.time - other.from.time);
    return (this.arrowsMade = arrows);
  }
}

const WAITS = [
  [/^cb_wait_front/, EMPTY], [/^cb_reserve_back/, FULL], [/^noc_semaphore_wait/, SEMAPHORE],
  [/barrier|flushed/, TRANSFER], [/^tile_regs_(acquire|wait)/, UNIT],
];

class EstimateTimeline {
  static async load(timeline) {
    const packed = await unpacked(timeline.blob);
    return new EstimateTimeline(timeline, packed);
  }

  constructor(timeline, packed) {
    const count = timeline.tracks.reduce((sum, track) => sum + track.count, 0);
    this.shapes = timeline.shapes;
    this.unit = 'µs';
    this.end = timeline.end;
    this.count = count;
    this.scale = timeline.unit;
    this.calls = [];
    this.begins = column(packed, 0, count);
    this.lengths = column(packed, 1, count);
    this.shape = column(packed, 2, count);
    this.values = column(packed, 3, count);
    let first = 0;
    this.tracks = timeline.tracks.map((track) => {
      const made = new Track(track.node, track.kernel, first, track.count);
      for (let n = first + 1; n < first + track.count; n++) this.begins[n] += this.begins[n - 1];
      first += track.count;
      return made;
    });
    this.shortest = new Float64Array(this.shapes.length).fill(Infinity);
    for (let n = 0; n < count; n++) this.shortest[this.shape[n]] = Math.min(this.shortest[this.shape[n]], this.lengths[n]);
    this.waits = this.shapes.map((shape) => WAITS.find(([pattern]) => pattern.test(shape[0]))?.[1] ?? RUNS);
  }

  subject(event) { return this.shapes[this.shape[event]][1]; }
  line(event) { return this.shapes[this.shape[event]][2]; }
  timeText(time) { return time >= 100 ? time.toFixed(1) : time.toFixed(3); }
  transfers() { return []; }
  arrows() { return []; }
  slices(track) { return (track.made ??= this.make(track)); }

  // A call that takes as long as the quickest of its kind did not wait.
  make(track) {
    const begin = [], end = [], cause = [], event = [];
    for (let n = track.first; n < track.first + track.count; n++) {
      const shape = this.shape[n];
      const waits = this.waits[shape] !== RUNS && this.lengths[n] > Math.max(2 * this.shortest[shape], 400);
      begin.push(this.begins[n] * this.scale);
      end.push((this.begins[n] + this.lengths[n]) * this.scale);
      cause.push(waits ? this.waits[shape] : RUNS);
      event.push(n);
    }
    return finished(begin, end, cause, event);
  }

  title(track, slices, n) {
    const [name, buffer] = this.shapes[this.shape[slices.event[n]]];
    const why = slices.cause[n];
    return `${name}${buffer ? ` ${buffer}` : ''}${why === RUNS ? '' : ` (waits: ${CAUSES[why].name})`}`;
  }

  label(track, slices, n) {
    const [name, buffer] = this.shapes[this.shape[slices.event[n]]];
    return slices.cause[n] === RUNS ? name : buffer || name;
  }

  text(event) { return this.shapes[this.shape[event]].slice(0, 2).join(' '); }
}

function finished(begin, end, cause, event) {
  const shares = new Float64Array(CAUSES.length);
  for (let n = 0; n < begin.length; n++) shares[cause[n]] += end[n] - begin[n];
  return { begin: Float64Array.from(begin), end: Float64Array.from(end), cause: Uint8Array.from(cause), event: Int32Array.from(event), shares };
}

// The first place whose value is greater than `time`.
function firstAfter(values, time) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > time) high = middle; else low = middle + 1;
  }
  return low;
}
