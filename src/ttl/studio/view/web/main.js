// The page: its panels, what is chosen, keys.

const PANELS = [
  ['timeline', 'Timeline'], ['memory', 'L1'], ['graph', 'Graph'], ['code', 'Code'], ['heat', 'Heat'], ['diagnostics', 'Diagnostics'],
  ['tuning', 'Tuning'],
];
const panels = new Map();

const KEYS = [
  ['1 – 6', 'panels'], ['/', 'search; n and N for the next match and the one before'], ['t', 'light or dark'], ['o', 'next operation'], ['?', 'these keys'],
  ['w s, + −', 'zoom in and out'], ['a d, ← →', 'move'], ['↑ ↓', 'scroll'], ['0', 'all of the run'], ['z', 'zoom to what is selected'], ['n N', 'next slice of the track, or the one before'],
  ['e', 'order of events, their estimated times, or those of calls'], ['c', 'close nodes; in Code, a second stage'], ['p', 'arrows of pipes'], ['Enter', 'show the line in Code'],
  ['[ ]', 'Code: stage before, next stage'], ['j J', 'Code: next line with code, the one before'], ['k', 'Code: next kernel'], ['Esc', 'nothing selected'],
];

function open(name) {
  if (!panels.has(name)) return;
  view.panel = name;
  for (const [each, { root }] of panels) root.hidden = each !== name;
  for (const tab of $('#tabs').children) tab.setAttribute('aria-selected', tab.dataset.panel === name);
  hideTip();
  const panel = panels.get(name);
  if (panel.isStale) { panel.isStale = false; panel.made.changed?.(); }
  panel.made.draw?.();
  if (view.query) $('#matches').textContent = panel.made.search?.(view.query) ?? '';
  history.replaceState(null, '', `#${name}`);
}

function showLine(file, line) {
  open('code');
  panels.get('code').made.showLine(file, line);
}

function chooseOperation(number) {
  view.operation = number;
  $('#operation').selectedIndex = number;
  const sources = panels.get('timeline')?.made.sources;
  if (sources) refreshTimes(panels.get('timeline').made);
  for (const panel of panels.values()) panel.isStale = true;
  open(view.panel);
}

// Times of a run are there or not; those of the estimate are of the chosen operation.
function timesOf(run) {
  const sources = run ? [{ name: 'order of events', load: async () => run, timeline: run }] : [];
  if (run?.times) sources.push({ name: 'estimated time of events', load: async () => (run.atTimes ??= run.timed(data.trace)) });
  const { timeline } = operation() ?? {};
  if (timeline) sources.push({ name: 'estimated time of calls', load: () => EstimateTimeline.load(timeline) });
  return sources;
}

function refreshTimes(panel) {
  panel.sources = timesOf(panel.run);
  panel.choice.replaceChildren(...panel.sources.map((source) => element('option', {}, source.name)));
  if (panel.sources.length) panel.open(0);
}

function addPanel(name, title, make) {
  const number = panels.size + 1;
  const root = element('section', { class: `panel ${name}`, role: 'tabpanel', 'aria-label': title, hidden: true });
  $('#panels').append(root);
  panels.set(name, { root, made: make(root), isStale: true });
  const count = name === 'diagnostics' ? data.diagnostics.length : 0;
  const tab = element('button', { role: 'tab', 'aria-selected': false, onclick: () => open(name) }, element('kbd', {}, String(number)), title, count ? element('b', { class: `count ${worst()}` }, String(count)) : '');
  tab.dataset.panel = name;
  $('#tabs').append(tab);
}

const worst = () => ['error', 'warning', 'note'].find((severity) => data.diagnostics.some((found) => found.severity === severity));

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  theme.known.clear();
  for (const tile of document.querySelectorAll('canvas.swatch')) paintSwatch(tile, Number(tile.dataset.cause));
  panels.get(view.panel)?.made.draw?.(); // others are drawn when they are opened
}

function pressed(event) {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.target.id === 'search' && (event.key === 'Enter' || event.key === 'Escape')) {
    if (event.key === 'Escape') { event.target.value = ''; runSearch(); }
    event.target.blur();
    panels.get(view.panel).made.next?.(1);
    return;
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const number = Number(event.key);
  const actions = {
    '/': () => $('#search').focus(), t: () => $('#theme').click(), '?': () => $('#keys').showModal(),
    o: () => chooseOperation((view.operation + 1) % Math.max(1, data.operations.length)),
  };
  if (event.key in actions) { event.preventDefault(); actions[event.key](); return; }
  if (number >= 1 && number <= panels.size) { open([...panels.keys()][number - 1]); return; }
  if (panels.get(view.panel)?.made.key?.(event)) event.preventDefault();
}

function runSearch() {
  view.query = $('#search').value;
  $('#matches').textContent = panels.get(view.panel).made.search?.(view.query) ?? '';
}

function showKeys() {
  const dialog = $('#keys');
  dialog.append(element('h2', {}, 'Keys'), tableOf(['', ''], KEYS.map(([keys, what]) => [element('kbd', {}, keys), what])),
    element('p', { class: 'dim' }, `Made by ${data.madeBy}`), element('button', { onclick: () => dialog.close() }, 'close'));
}

async function start() {
  data = JSON.parse(new TextDecoder().decode(await unpacked(0)));
  const run = data.trace ? await TraceTimeline.load(data.trace) : null;
  const choice = $('#operation');
  choice.replaceChildren(...data.operations.map((each) => element('option', {}, each.times > 1 ? `${each.name}  (${each.times}×)` : each.name)));
  choice.hidden = !data.operations.length;
  choice.addEventListener('change', () => chooseOperation(choice.selectedIndex));
  $('#panels').replaceChildren();
  const makers = {
    timeline: (root) => { const made = new TimelinePanel(root, timesOf(run)); made.run = run; return made; },
    memory: (root) => new MemoryPanel(root, run), graph: (root) => new GraphPanel(root, run),
    code: (root) => new CodePanel(root), heat: (root) => new HeatPanel(root, run), diagnostics: (root) => new DiagnosticsPanel(root),
    tuning: (root) => new TuningPanel(root),
  };
  for (const [name, title] of PANELS) if (isShown(name, run)) addPanel(name, title, makers[name]);
  $('#theme').addEventListener('click', () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'));
  $('#help').addEventListener('click', () => $('#keys').showModal());
  $('#search').addEventListener('input', runSearch);
  document.addEventListener('keydown', pressed);
  showKeys();
  setTheme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (event) => setTheme(event.matches ? 'dark' : 'light'));
  const timeline = panels.get('timeline')?.made;
  if (timeline?.sources.length) await timeline.open(0);
  const wanted = location.hash.slice(1);
  open(panels.has(wanted) ? wanted : firstPanel(run));
  document.documentElement.dataset.ready = Math.round(performance.now());
}

// A page about less has fewer panels.
function isShown(name, run) {
  if (!data.panels.includes(name)) return false;
  if (name === 'timeline') return Boolean(run) || data.operations.some((each) => each.timeline);
  if (name === 'tuning') return Boolean(data.tuning);
  if (name === 'heat') return Boolean(run) || data.operations.some((each) => each.estimate);
  if (name === 'graph') return data.operations.length > 0 || Boolean(run) || Boolean(data.graph);
  if (name === 'code' || name === 'memory') return data.operations.length > 0 || Boolean(run);
  return true;
}

function firstPanel(run) {
  if (data.diagnostics.some((found) => found.severity === 'error') && panels.has('diagnostics') && !run) return 'diagnostics';
  return [...panels.keys()][0];
}

start();
