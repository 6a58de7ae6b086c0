/** The part of YAML that the files of infra use: maps, lists, scalars on a line, anchors, merges. */

export type Yaml = string | number | boolean | null | Yaml[] | { [key: string]: Yaml };
type YamlMap = { [key: string]: Yaml };

type Line = { indent: number; text: string };

const KEY = /^("[^"]*"|[\w.<-]+):(?: +(.*))?$/;
const ANCHOR = /^&(\w+)$/;

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .map((line) => ({ indent: line.search(/\S/), text: line.trim() }))
    .filter(({ text: line }) => line !== '' && !line.startsWith('#'));

/** Parses YAML. Throws on unsupported syntax, so that no file is read in part. */
export const readYaml = (text: string): Yaml => {
  const lines = linesOf(text);
  const anchors = new Map<string, Yaml>();
  let at = 0;

  const scalar = (source: string): Yaml => {
    const alias = /^\*(\w+)$/.exec(source)?.[1];
    if (alias !== undefined) {
      const result = anchors.get(alias);
      if (result === undefined) throw new Error(`no anchor ${alias}`);
      return result;
    }
    if (source.startsWith('"')) return JSON.parse(source) as string;
    if (source.startsWith('['))
      return [...source.slice(1, -1).matchAll(/"[^"]*"|[^,\s][^,]*/g)].map(([item]) =>
        scalar(item.trim()),
      );
    if (/^[{|>&'!%@`]|\s#| : /.test(source)) throw new Error(`unsupported YAML: ${source}`);
    if (/^(?:true|false)$/.test(source)) return source === 'true';
    return /^-?\d+(?:\.\d+)?$/.test(source) ? Number(source) : source;
  };

  const value = (rest: string | undefined, indent: number): Yaml => {
    const anchor = rest === undefined ? undefined : ANCHOR.exec(rest)?.[1];
    if (rest !== undefined && anchor === undefined) return scalar(rest);
    const next = lines[at];
    // A list can have the same indentation as its key.
    const isInside = next && (next.indent > indent || next.text.startsWith('- '));
    const result = isInside ? block(next.indent) : null;
    if (anchor !== undefined) anchors.set(anchor, result);
    return result;
  };

  const list = (indent: number): Yaml[] => {
    const result: Yaml[] = [];
    for (let line = lines[at]; line?.indent === indent; line = lines[at]) {
      const item = /^- +(.*)$/.exec(line.text);
      if (!item) break;
      const [, text_ = ''] = item;
      const inner = indent + line.text.length - text_.length;
      if (KEY.test(text_)) {
        lines[at] = { indent: inner, text: text_ };
        result.push(block(inner));
      } else {
        at += 1;
        result.push(scalar(text_));
      }
    }
    return result;
  };

  const map = (indent: number): YamlMap => {
    const result: YamlMap = {};
    for (let line = lines[at]; line?.indent === indent; line = lines[at]) {
      const [, key = '', rest] = KEY.exec(line.text) ?? [];
      if (key === '') throw new Error(`no key: ${line.text}`);
      at += 1;
      const read = value(rest, indent);
      if (key === '<<') Object.assign(result, read);
      else result[key.replaceAll('"', '')] = read;
    }
    return result;
  };

  const block = (indent: number): Yaml =>
    lines[at]?.text.startsWith('- ') ? list(indent) : map(indent);

  const read = block(0);
  if (at < lines.length) throw new Error(`unparsed line: ${lines[at]?.text}`);
  return read;
};
