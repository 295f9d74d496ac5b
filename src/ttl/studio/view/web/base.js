// What all panels use: elements, numbers as text, colours, the data.

const $ = (selector, root = document) => root.querySelector(selector);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (name === 'class') made.className = value;
    else if (value === true) made.setAttribute(name, '');
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child != null && child !== false));
  return made;
}

const SVG = 'http://www.w3.org/2000/svg';
function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Numbers as people read them.
const counted = (number, what) => `${grouped(number)} ${what}${number === 1 ? '' : 's'}`;
const grouped = (number) => Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');
function bytes(number) {
  if (number < 1024) return `${number} B`;
  const [size, unit] = number < 1048576 ? [number / 1024, 'KiB'] : [number / 1048576, 'MiB'];
  return `${size >= 100 || Number.isInteger(size) ? Math.round(size) : size.toFixed(1)} ${unit}`;
}
const microseconds = (time) => (time >= 100 ? time.toFixed(1) : time.toFixed(3));
const percent = (share) => `${share >= 0.1 || share === 0 ? Math.round(share * 100) : (share * 100).toFixed(1)}%`;
const nodeText = (node) => (Array.isArray(node) ? (node.length ? `(${node.join(', ')})` : '') : node);

// What a kernel does, in colours that differ for all eyes (Okabe and Ito); the pattern and the
// letter say the same for those who see no colours.
const CAUSES = [
  { name: 'runs', color: '--run', letter: '', pattern: '' },
  { name: 'buffer empty', color: '--empty', letter: 'E', pattern: '/' },
  { name: 'buffer full', color: '--full', letter: 'F', pattern: 'x' },
  { name: 'pipe', color: '--pipe', letter: 'P', pattern: '-' },
  { name: 'semaphore', color: '--semaphore', letter: 'S', pattern: '|' },
  { name: 'transfer', color: '--transfer', letter: 'T', pattern: '\\' },
  { name: 'other unit', color: '--unit', letter: 'U', pattern: '.' },
];
const [RUNS, EMPTY, FULL, PIPE, SEMAPHORE, TRANSFER, UNIT] = CAUSES.keys();

const theme = { known: new Map() };
function color(name) {
  let found = theme.known.get(name);
  if (!found) {
    found = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    theme.known.set(name, found);
  }
  return found;
}

const STROKES = {
  '/': [[0, 8, 8, 0]], '\\': [[0, 0, 8, 8]], x: [[0, 8, 8, 0], [0, 0, 8, 8]],
  '-': [[0, 4, 8, 4]], '|': [[4, 0, 4, 8]], '.': [[2, 2, 3, 3], [6, 6, 7, 7]],
};
function patternOf(context, cause) {
  const key = `pattern ${cause}`;
  if (theme.known.has(key)) return theme.known.get(key);
  const tile = element('canvas', { width: 8, height: 8 });
  const pen = tile.getContext('2d');
  pen.strokeStyle = color('--stroke');
  pen.lineWidth = 1.1;
  for (const [x0, y0, x1, y1] of STROKES[CAUSES[cause].pattern] ?? []) {
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
    pen.stroke();
  }
  const made = context.createPattern(tile, 'repeat');
  theme.known.set(key, made);
  return made;
}

function swatch(cause) {
  const tile = element('canvas', { width: 32, height: 24, class: 'swatch' });
  paintSwatch(tile, cause);
  tile.dataset.cause = cause;
  return tile;
}
function paintSwatch(tile, cause) {
  const pen = tile.getContext('2d');
  pen.setTransform(2, 0, 0, 2, 0, 0);
  pen.fillStyle = color(CAUSES[cause].color);
  pen.fillRect(0, 0, 16, 12);
  pen.fillStyle = patternOf(pen, cause);
  pen.fillRect(0, 0, 16, 12);
}

// A canvas as large as its element, in the pixels of the screen.
function sized(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const pen = canvas.getContext('2d');
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = '11px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';
  pen.textBaseline = 'middle';
  return { pen, width, height };
}

// The same request many times before the next frame is one.
function onceAFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(); });
  };
}

function showTip(event, lines) {
  const tip = $('#tip');
  tip.replaceChildren(...lines.map((line, place) => element('div', { class: place ? '' : 'head' }, line)));
  tip.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = tip;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 6))}px`;
  tip.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18}px`;
}
const hideTip = () => { $('#tip').hidden = true; };

// The data: the first blob is JSON, others are columns.
async function unpacked(place) {
  const text = document.querySelectorAll('script.blob')[place].textContent;
  const packed = Uint8Array.fromBase64
    ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// 32-bit words whose bytes lie in planes; `planes` says how many each column has.
function columns(data, planes, count) {
  let from = 0;
  return planes.map((own) => {
    const words = new Int32Array(count);
    for (let plane = 0; plane < own; plane++, from += count) {
      const shift = 8 * plane;
      if (plane) for (let n = 0; n < count; n++) words[n] |= data[from + n] << shift;
      else words.set(data.subarray(from, from + count));
    }
    return words;
  });
}

let data = null; // what the page shows
const view = { operation: 0, panel: '', query: '', line: null };
const operation = () => data.operations[view.operation];

function sourceLine(file, line) {
  const text = data.files[file ?? -1]?.text;
  if (!text || !line) return '';
  const lines = data.files[file].lines ??= text.split('\n');
  return (lines[line - 1] ?? '').trim();
}
