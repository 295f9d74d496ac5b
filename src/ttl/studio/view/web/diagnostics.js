// Panel 6: what was found, with the lines that it is about.

const SEVERITIES = { error: '✖', warning: '▲', note: '●' };

class DiagnosticsPanel {
  constructor(root) {
    this.root = root;
    this.list = element('div', { class: 'cards scroll', tabindex: 0 });
    root.append(this.list);
  }

  changed() {
    if (!data.diagnostics.length) { this.list.replaceChildren(element('p', { class: 'empty' }, 'Nothing was found.')); return; }
    const rank = Object.keys(SEVERITIES);
    const sorted = [...data.diagnostics].sort((one, other) => rank.indexOf(one.severity) - rank.indexOf(other.severity));
    this.list.replaceChildren(...sorted.map((found) => this.card(found)));
  }

  card(found) {
    return element('article', { class: `diagnostic ${found.severity}` },
      element('h2', {}, element('span', { class: 'severity' }, `${SEVERITIES[found.severity]} ${found.severity}`), element('code', {}, found.code), ` ${found.message}`),
      found.labels.map(([span, text], place) => this.place(span, text, !place)),
      found.notes.map((note) => element('p', { class: 'note' }, note)),
      found.helps.map((help) => element('pre', { class: 'help' }, `help: ${help}`)),
      element('details', {}, element('summary', {}, 'why'), element('p', {}, found.why), element('p', { class: 'dim' }, `more: ttl explain ${found.code}`)));
  }

  place(span, text, isFirst) {
    const [file, line, column, endLine, endColumn] = data.spans[span];
    const source = (data.files[file].text ?? '').split('\n')[line - 1] ?? '';
    const end = endLine === line ? endColumn - 1 : source.length;
    return element('div', { class: `place ${isFirst ? 'first' : ''}` },
      element('button', { class: 'link', onclick: () => showLine(file, line) }, `${data.files[file].name}:${line}:${column}`),
      element('pre', {}, `${source.slice(0, column - 1)}`, element('mark', {}, source.slice(column - 1, end)), source.slice(end)),
      text ? element('p', {}, text) : '');
  }

  search(query) {
    let count = 0;
    for (const card of this.list.children) {
      card.hidden = Boolean(query) && !card.textContent.toLowerCase().includes(query.toLowerCase());
      if (!card.hidden) count++;
    }
    return query ? counted(count, 'finding') : '';
  }

  key() { return false; }
}
