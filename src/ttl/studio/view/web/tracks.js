// Events of a trace, or steps of an estimate, as slices of tracks.

class Track {
  constructor(node, kernel, first, count) {
    Object.assign(this, { node, kernel, first, count, made: null });
    this.nodeText = nodeText(node);
  }
}

// A timeline has tracks, an end, and texts for its times and slices. `slices(track)` has sorted
// columns: begin, end, cause, event (its number among all), and `shares`: time of each cause.
const BEGINS = 1, ENDS = 2;
const MOST_EVENTS_WITH_ARROWS = 2_000_000;

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
    [this.ticks, this.shape, this.values, this.times] = columns(packed, trace.planes, count);
    this.least = 1; // ticks that anything takes
    this.numbers = Object.fromEntries(trace.kinds.map((kind, number) => [kind, number]));
    let first = 0;
    const all = trace.tracks.map((track) => {
      const made = new Track(track.node, track.kernel, first, track.count);
      for (let n = first + 1; n < first + track.count; n++) this.ticks[n] += this.ticks[n - 1];
      if (this.times) for (let n = first + 1; n < first + track.count; n++) this.times[n] += this.times[n - 1];
      first += track.count;
      return made;
    });
    this.all = all;
    this.calls = this.callsOf(all.find((track) => !track.kernel));
    const order = (track) => track.node.reduce((sum, place, n) => sum + place * 1000 ** n, 0);
    this.tracks = all.filter((track) => track.kernel);
    this.tracks.forEach((track, place) => { track.place = place; });
    this.tracks.sort((one, other) => order(one) - order(other) || one.place - other.place);
    const semaphores = new Set(trace.shapes.filter((shape) => this.kinds[shape[0]].startsWith('semaphore')).map((shape) => shape[1]));
    // Of a buffer what follows tells whether it was empty or full.
    this.causeOfShape = Uint8Array.from(trace.shapes, ([, subject]) => (subject.startsWith('pipe ') ? PIPE : semaphores.has(subject) ? SEMAPHORE : 0));
  }

  // The same events at their estimated times; null if they have none.
  timed(trace) {
    if (!this.times) return null;
    const made = Object.assign(Object.create(TraceTimeline.prototype), this);
    const again = (track) => Object.assign(new Track(track.node, track.kernel, track.first, track.count), { place: track.place });
    made.ticks = Float64Array.from(this.times, (time) => time * trace.unit);
    Object.assign(made, { unit: 'µs', end: trace.endTime, least: 0, tracks: this.tracks.map(again), arrowsMade: null, mapShares: null });
    made.calls = made.callsOf(this.all.find((track) => !track.kernel));
    return made;
  }

  subject(event) { return this.shapes[this.shape[event]][1]; }
  line(event) { return this.shapes[this.shape[event]][2]; }
  timeText(time) { return this.unit === 'tick' ? grouped(time) : microseconds(time); }

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
    const known = this.causeOfShape[this.shape[blocked]];
    if (known) return known;
    const { buffer_reserve: reserve, buffer_wait: wait } = this.numbers;
    for (let n = blocked + 1; n < Math.min(blocked + 4, last); n++) {
      const kind = this.kindOf[this.shape[n]];
      if (kind === reserve || kind === wait) return kind === reserve ? FULL : EMPTY;
    }
    return this.values[blocked] > 0 ? FULL : EMPTY;
  }

  slices(track) {
    return (track.made ??= this.make(track));
  }

  make(track) {
    const { kernel_start: start, kernel_end: ended, kernel_blocked: blocked, kernel_resumed: resumed } = this.numbers;
    const last = track.first + track.count;
    const made = new Slices(track.count + 1);
    const add = (from, to, why, what) => made.add(from, to, why, what);
    let since = -1, from = 0;
    for (let n = track.first; n < last; n++) {
      const kind = this.kindOf[this.shape[n]], tick = this.ticks[n];
      if (kind === start) { since = tick; from = n; }
      else if (kind === blocked) {
        if (since >= 0 && tick > since) add(since, tick, RUNS, from);
        since = tick; from = n;
      } else if (kind === resumed || kind === ended) {
        const why = kind === resumed ? this.causeOf(from, last) : RUNS;
        if (since >= 0) add(since, Math.max(tick, since + this.least), why, from);
        since = kind === ended ? -1 : tick; from = n;
      }
    }
    if (since >= 0) add(since, this.end, this.kindOf[this.shape[from]] === blocked ? this.causeOf(from, last) : RUNS, from);
    return made.finish();
  }

  // Copies and transfers through pipes: they go on while their kernel does something else.
  transfers(track) {
    if (track.transfers) return track.transfers;
    const [role, key] = this.rolesOfTransfers();
    const made = new Slices(track.count), open = new Map();
    for (let n = track.first; n < track.first + track.count; n++) {
      const shape = this.shape[n];
      if (role[shape] === BEGINS) {
        if (!open.has(key[shape])) open.set(key[shape], []);
        open.get(key[shape]).push(made.count);
        made.add(this.ticks[n], this.end, this.kindOf[shape] === this.numbers.copy_start ? TRANSFER : PIPE, n);
      } else if (role[shape] === ENDS) {
        const place = open.get(key[shape])?.shift();
        if (place !== undefined) made.end[place] = this.ticks[n];
      }
    }
    return (track.transfers = made.finish());
  }

  // Of each shape: does it begin a transfer or end one, and a number that both have.
  rolesOfTransfers() {
    if (this.roles) return this.roles;
    const numbers = new Map();
    const role = new Uint8Array(this.shapes.length), key = new Int32Array(this.shapes.length);
    this.shapes.forEach(([kind, subject], shape) => {
      const text = /^(copy|pipe_send|pipe_receive)(_start|_end)?$/.exec(this.kinds[kind]);
      if (!text) return;
      role[shape] = text[2] === '_end' ? ENDS : BEGINS;
      const name = `${text[1]} ${subject}`;
      if (!numbers.has(name)) numbers.set(name, numbers.size);
      key[shape] = numbers.get(name);
    });
    return (this.roles = [role, key]);
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
  // Those of a very long run are not looked for: nobody could follow them.
  arrows() {
    if (this.arrowsMade) return this.arrowsMade;
    if (this.count > MOST_EVENTS_WITH_ARROWS) return (this.arrowsMade = []);
    const { pipe_send: send, pipe_receive_end: received } = this.numbers;
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

// What the model says that a step waits for.
const REASONS = [[/is empty$/, EMPTY], [/is full$/, FULL], [/^semaphore$/, SEMAPHORE], [/^barrier$/, TRANSFER], [/./, UNIT]];

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
    [this.begins, this.lengths, this.waited, this.flights, this.shape, this.values] = columns(packed, timeline.planes, count);
    let first = 0;
    this.tracks = timeline.tracks.map((track) => {
      const made = new Track(track.node, track.kernel, first, track.count);
      for (let n = first + 1; n < first + track.count; n++) this.begins[n] += this.begins[n - 1];
      first += track.count;
      return made;
    });
    this.causes = this.shapes.map((shape) => REASONS.find(([pattern]) => pattern.test(shape[3]))?.[1] ?? RUNS);
  }

  subject(event) { return this.shapes[this.shape[event]][1]; }
  line(event) { return this.shapes[this.shape[event]][2]; }
  timeText(time) { return microseconds(time); }
  arrows() { return []; }
  slices(track) { return (track.made ??= this.make(track)); }

  // From the call to the arrival of the last byte.
  transfers(track) {
    if (track.transfers) return track.transfers;
    const made = new Slices(track.count);
    for (let n = track.first; n < track.first + track.count; n++) {
      if (this.flights[n]) made.add(this.begins[n] * this.scale, (this.begins[n] + this.flights[n]) * this.scale, TRANSFER, n);
    }
    return (track.transfers = made.finish());
  }

  // A step waits first, then it does something.
  make(track) {
    const made = new Slices(2 * track.count);
    for (let n = track.first; n < track.first + track.count; n++) {
      const begin = this.begins[n], end = begin + this.lengths[n], runs = Math.min(begin + this.waited[n], end);
      if (runs > begin) made.add(begin * this.scale, runs * this.scale, this.causes[this.shape[n]], n);
      if (end > runs) made.add(runs * this.scale, end * this.scale, RUNS, n);
    }
    return made.finish();
  }

  title(track, slices, n) {
    const [name, buffer, , reason] = this.shapes[this.shape[slices.event[n]]];
    return slices.cause[n] === RUNS ? `${name}${buffer ? ` ${buffer}` : ''}` : `${name} waits: ${reason}`;
  }

  label(track, slices, n) {
    const [name, buffer, , reason] = this.shapes[this.shape[slices.event[n]]];
    return slices.cause[n] === RUNS ? name : buffer || reason;
  }

  text(event) { return this.shapes[this.shape[event]].slice(0, 2).join(' '); }
}

// Columns that grow up to a known length.
class Slices {
  constructor(most) {
    Object.assign(this, { begin: new Float64Array(most), end: new Float64Array(most), cause: new Uint8Array(most), event: new Int32Array(most), shares: new Float64Array(CAUSES.length), count: 0 });
  }

  add(begin, end, cause, event) {
    const n = this.count++;
    this.begin[n] = begin; this.end[n] = end; this.cause[n] = cause; this.event[n] = event;
    this.shares[cause] += end - begin;
  }

  finish() {
    for (const name of ['begin', 'end', 'cause', 'event']) this[name] = this[name].slice(0, this.count);
    return this;
  }
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
