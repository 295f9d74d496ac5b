// Panel 7, if operations were tuned: what each configuration takes.

class TuningPanel {
  constructor(root) {
    this.body = element('div', { class: 'scroll', tabindex: 0 });
    this.body.innerHTML = data.tuning; // made by ttl.studio.tuning, which escapes what is the program's
    root.append(this.body);
  }

  search(query) {
    const rows = [...this.body.querySelectorAll('tr')].filter((row) => row.querySelector('td'));
    for (const row of rows) row.hidden = Boolean(query) && !row.textContent.toLowerCase().includes(query.toLowerCase());
    return query ? counted(rows.filter((row) => !row.hidden).length, 'configuration') : '';
  }

  key() { return false; }
}
