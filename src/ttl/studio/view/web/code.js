// Panel 4: Python, the IR after each pass, and C++, side by side: what is under the pointer is lit
// in all of them.

const WORDS = {
  python: /(#.*$)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(def|return|for|in|if|elif|else|while|with|as|import|from|class|not|and|or|is|None|True|False|lambda|assert|pass|raise|yield)\b|(@[\w.]+)|\b(\d[\w.]*)\b/g,
  cpp: /(\/\/.*$)|("(?:[^"\\]|\\.)*")|\b(void|int32_t|uint32_t|uint8_t|int|bool|float|auto|const|constexpr|static|for|if|else|while|return|volatile|true|false|break)\b|(#include.*$)|\b(\d[\w.]*)\b/g,
  ir: /(\/\/.*$)|("(?:[^"\\]|\\.)*")|\b(func|scf|affine|arith|builtin)\b|([%@#^!][\w$.-]+)|\b(\d[\w.]*)\b/g,
};
const KINDS = ['comment', 'string', 'word', 'name', 'digits'];

function highlighted(text, language) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(WORDS[language])) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    const kind = match.slice(1).findIndex((group) => group !== undefined);
    parts.push(element('span', { class: KINDS[kind] }, match[0]));
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts.length ? parts : ['\u200b'];
}

const keyOf = (span) => { const [file, line] = data.spans[span]; return `${file}:${line}`; };

class CodeColumn {
  constructor(panel, title, language) {
    Object.assign(this, { panel, language, keys: new Map() });
    this.head = element('div', { class: 'colhead' }, element('b', {}, title));
    this.body = element('div', { class: 'lines', tabindex: 0, role: 'region', 'aria-label': title });
    this.root = element('section', { class: `column ${language}` }, this.head, this.body);
    this.body.addEventListener('pointerover', (event) => this.point(event, false));
    this.body.addEventListener('click', (event) => this.point(event, true));
  }

  point(event, isClick) {
    const line = event.target.closest('.line');
    this.panel.light(line?.dataset.key ?? null, isClick, this, Number(line?.dataset.line));
  }

  // `places`: the span of each line that has one; `marks`: lines that are new.
  show(text, places, marks = null) {
    const lines = text.replace(/\n$/, '').split('\n');
    this.keys = new Map();
    let isString = false; // of several lines
    const shown = (line) => {
      const wasString = isString;
      if (this.language === 'python' && (line.match(/"""/g)?.length ?? 0) % 2) isString = !isString;
      return wasString || isString ? [element('span', { class: 'string' }, line || '\u200b')] : highlighted(line, this.language);
    };
    const made = lines.map((line, number) => {
      const span = places.get(number + 1);
      const key = span === undefined ? null : typeof span === 'string' ? span : keyOf(span);
      const row = element('div', { class: `line${key ? '' : ' none'}${marks?.has(number) ? ' new' : ''}` }, element('i', {}, String(number + 1)), element('code', {}, shown(line)));
      row.dataset.line = number + 1;
      if (key) {
        row.dataset.key = key;
        if (!this.keys.has(key)) this.keys.set(key, []);
        this.keys.get(key).push(row);
      }
      return row;
    });
    this.body.replaceChildren(...made);
  }

  light(key, scrolls) {
    for (const row of this.lit ?? []) row.classList.remove('lit');
    this.lit = key ? this.keys.get(key) ?? [] : [];
    for (const row of this.lit) row.classList.add('lit');
    if (scrolls && this.lit.length) {
      const { offsetTop, offsetHeight } = this.lit[0];
      this.body.scrollTop = offsetTop - this.body.clientHeight / 3 + offsetHeight;
    }
  }

  search(query) {
    let count = 0;
    for (const row of this.body.children) {
      const isFound = Boolean(query) && row.textContent.toLowerCase().includes(query.toLowerCase());
      row.classList.toggle('found', isFound);
      if (isFound && !count++) row.scrollIntoView({ block: 'center' });
    }
    return count;
  }
}

class CodePanel {
  constructor(root) {
    Object.assign(this, { root, stage: 0, kernel: 0, other: -1, pinned: null });
    this.python = new CodeColumn(this, 'Python', 'python');
    this.ir = new CodeColumn(this, 'IR', 'ir');
    this.second = new CodeColumn(this, 'IR', 'ir');
    this.cpp = new CodeColumn(this, 'C++', 'cpp');
    this.stageChoice = element('select', { 'aria-label': 'stage of the IR', onchange: () => this.showStage(Number(this.stageChoice.value)) });
    this.secondChoice = element('select', { 'aria-label': 'another stage', onchange: () => this.showSecond(Number(this.secondChoice.value)) });
    this.files = element('select', { 'aria-label': 'file', onchange: () => this.showFile(Number(this.files.value)) });
    this.kernels = element('span', { class: 'choices', role: 'tablist' });
    this.note = element('span', { class: 'dim note' });
    const step = (text, title, by) => element('button', { title, 'aria-label': title, onclick: () => this.stepStage(by) }, text);
    this.ir.head.append(step('‹', 'stage before ([)', -1), this.stageChoice, step('›', 'next stage (])', 1), element('button', { title: 'a second stage beside it (c)', onclick: () => this.compare() }, '◫'), this.note);
    this.second.head.append(this.secondChoice);
    this.python.head.append(this.files);
    this.cpp.head.append(this.kernels);
    this.second.root.hidden = true;
    this.narrow = element('div', { class: 'bar narrow', role: 'tablist' }, [['python', 'Python'], ['ir', 'IR'], ['cpp', 'C++']].map(([name, text]) =>
      element('button', { role: 'tab', onclick: () => { root.dataset.column = name; } }, text)));
    root.dataset.column = 'python';
    root.append(this.narrow, element('div', { class: 'columns' }, this.python.root, this.ir.root, this.second.root, this.cpp.root));
    this.columns = [this.python, this.ir, this.second, this.cpp];
  }

  changed() {
    const op = operation();
    this.stages = op?.stages ?? [];
    const options = () => this.stages.map((stage, number) => element('option', { value: number }, `${number}  ${stage.name}${stage.text ? '' : '  (no change)'}`));
    this.stageChoice.replaceChildren(...options());
    this.secondChoice.replaceChildren(...options());
    this.ir.root.hidden = !this.stages.length;
    const used = new Set([data.mainFile, ...(op?.kernels ?? []).flatMap((kernel) => kernel.spans.map(([, span]) => data.spans[span][0]))].filter((file) => file != null && data.files[file].text));
    if (!used.size) data.files.forEach((file, number) => { if (file.text) used.add(number); });
    this.files.replaceChildren(...[...used].map((file) => element('option', { value: file }, data.files[file].name)));
    this.showFile([...used][0]);
    this.showStage(0);
    this.showKernels(op);
  }

  showFile(file) {
    if (file === undefined) { this.python.show('(the text of the program is not here: give it with --source)', new Map()); return; }
    this.file = file;
    this.files.value = file;
    const { text } = data.files[file];
    this.python.show(text, new Map(text.split('\n').map((line, number) => [number + 1, `${file}:${number + 1}`])));
    this.markKnown();
  }

  // Lines of Python from which something was made.
  markKnown() {
    const known = new Set();
    for (const column of this.columns.slice(1)) for (const key of column.keys.keys()) known.add(key);
    for (const row of this.python.body.children) row.classList.toggle('none', !known.has(row.dataset.key));
  }

  textOf(number) {
    let at = number;
    while (at > 0 && !this.stages[at].text) at--;
    return this.stages[at];
  }

  showStage(number) {
    if (!this.stages.length) return;
    this.stage = Math.max(0, Math.min(number, this.stages.length - 1));
    this.stageChoice.value = this.stage;
    const stage = this.textOf(this.stage), before = this.stage ? this.textOf(this.stage - 1) : null;
    const marks = before && before !== stage ? newLines(before.text, stage.text) : new Set();
    this.ir.show(stage.text, new Map(stage.spans), marks);
    this.note.textContent = `${counted(stage.text.split('\n').length - 1, 'line')}${before ? (marks.size ? `, ${marks.size} new` : ', no change') : ''}`;
    this.markKnown();
    this.light(this.pinned, false);
  }

  // Over stages that change nothing.
  stepStage(by) {
    let at = this.stage + by;
    while (at > 0 && at < this.stages.length - 1 && !this.stages[at].text) at += by;
    this.showStage(at);
  }

  compare() {
    this.second.root.hidden = !this.second.root.hidden;
    if (!this.second.root.hidden) this.showSecond(this.stages.length - 1);
  }

  showSecond(number) {
    this.secondChoice.value = number;
    const stage = this.textOf(number);
    this.second.show(stage.text, new Map(stage.spans));
    this.light(this.pinned, false);
  }

  showKernels(op) {
    const kernels = op?.kernels ?? [];
    this.kernels.replaceChildren(...kernels.map((kernel, number) => element('button', { role: 'tab', onclick: () => this.showKernel(number) }, kernel.name)));
    if (kernels.length) this.showKernel(0);
    else this.cpp.show(op ? '(not compiled)' : '(a trace has no C++)', new Map());
  }

  showKernel(number) {
    this.kernel = number;
    [...this.kernels.children].forEach((button, place) => { button.classList.toggle('on', place === number); button.setAttribute('aria-selected', place === number); });
    const kernel = operation().kernels[number];
    const count = kernel.cpp.split('\n').length, places = new Map();
    kernel.spans.forEach(([line, span], place) => {
      const end = kernel.spans[place + 1]?.[0] ?? count + 1;
      for (let n = line; n < end; n++) places.set(n, span);
    });
    this.cpp.show(kernel.cpp, places);
    this.markKnown();
    this.light(this.pinned, false);
  }

  light(key, isClick, from = null) {
    if (this.pinned && !isClick && from) return;
    if (isClick && from) this.pinned = key && key !== this.pinned ? key : null;
    if (isClick && key) this.openKernelOf(key);
    for (const column of this.columns) column.light(this.pinned ?? key, isClick && column !== from);
    this.root.classList.toggle('pinned', Boolean(this.pinned));
  }

  // The kernel whose C++ comes from a line, if the one that is shown does not.
  openKernelOf(key) {
    if (this.cpp.keys.has(key)) return;
    const found = operation()?.kernels?.findIndex((kernel) => kernel.spans.some(([, span]) => keyOf(span) === key)) ?? -1;
    if (found >= 0) this.showKernel(found);
  }

  showLine(file, line) {
    if (file !== this.file && data.files[file]?.text) this.showFile(file);
    this.pinned = null;
    const key = `${file}:${line}`;
    this.pinned = key;
    this.openKernelOf(key);
    for (const column of this.columns) column.light(key, true);
    this.root.classList.add('pinned');
  }

  search(query) {
    const count = this.columns.filter((column) => !column.root.hidden).reduce((sum, column) => sum + column.search(query), 0);
    return query ? counted(count, 'line') : '';
  }

  key(event) {
    const kernels = operation()?.kernels?.length ?? 0;
    const step = (by) => {
      const keys = [...this.python.keys.keys()].filter((key) => !this.python.keys.get(key)[0].classList.contains('none'));
      if (!keys.length) return;
      const at = keys.indexOf(this.pinned);
      const [file, line] = keys[(at + by + keys.length) % keys.length].split(':').map(Number);
      this.showLine(file, line);
    };
    const actions = {
      '[': () => this.stepStage(-1), ']': () => this.stepStage(1), c: () => { if (this.stages.length) this.compare(); },
      k: () => { if (kernels) this.showKernel((this.kernel + 1) % kernels); }, j: () => step(1), J: () => step(-1),
      Escape: () => { this.pinned = null; this.light(null, false); this.root.classList.remove('pinned'); },
    };
    actions[event.key]?.();
    return event.key in actions;
  }
}

// Lines of a text that the one before does not have; names of values do not count.
function newLines(before, after) {
  const plain = (line) => line.replace(/%[\w.-]+/g, '%').trim();
  const had = new Map();
  for (const line of before.split('\n').map(plain)) had.set(line, (had.get(line) ?? 0) + 1);
  const found = new Set();
  after.replace(/\n$/, '').split('\n').forEach((line, number) => {
    const key = plain(line), left = had.get(key) ?? 0;
    if (left) had.set(key, left - 1); else if (key !== '}') found.add(number);
  });
  return found;
}
