import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { Turns } from "../../../../util/async/turns.js";
import { JSON_TYPE, PROTOBUF_TYPE, YAML_TYPE } from "../media-types.js";

/** A list, a list of metadata, or a table. */
export interface LongList {
  /** everything but the elements */
  readonly head: Readonly<Record<string, unknown>>;
  /** the field of the elements, the last one in JSON */
  readonly key: "items" | "rows";
  readonly objects: readonly KubeObject[];
  readonly element: (object: KubeObject) => object;
}

/** The whole value, for short ones. */
export function wholeOf({ head, key, objects, element }: LongList): object {
  return { ...head, [key]: objects.map(element) };
}

/** The encoded list, in order. */
export interface EncodedList {
  readonly parts: readonly Buffer[];
  readonly mediaType: string;
}

/**
 * Encodes a list element by element, so that other requests have their turn meanwhile.
 * @returns undefined when `isGone` becomes true
 */
export async function encodeLong(
  list: LongList,
  { mediaType, pretty }: { readonly mediaType: string; readonly pretty: boolean },
  turns: Turns,
  isGone: () => boolean,
): Promise<EncodedList | undefined> {
  const { head, key, objects, element } = list;
  if (mediaType === PROTOBUF_TYPE) {
    const { encodeProtobufList } = await import("../../../../staging/apimachinery/scheme/protobuf/envelope.js");
    const parts = await encodeProtobufList(head, objects.map(element), turns, isGone);
    if (parts !== "none") return parts && { parts, mediaType };
  }
  const isYaml = mediaType === YAML_TYPE;
  const [top, separator, end, encode] = isYaml ? await yamlOf(head, key) : jsonOf(head, key, pretty);
  const parts = [Buffer.from(top)];
  for (const [index, object] of objects.entries()) {
    parts.push(Buffer.from((index === 0 ? "" : separator) + encode(element(object))));
    await turns.next();
    if (isGone()) return undefined;
  }
  parts.push(Buffer.from(end));
  return { parts, mediaType: isYaml ? YAML_TYPE : JSON_TYPE };
}

/** The text before, between and after the elements, and the text of an element. */
type Layout = readonly [top: string, separator: string, end: string, encode: (element: object) => string];

async function yamlOf(head: LongList["head"], key: string): Promise<Layout> {
  const { toYaml } = await import("../yaml.js");
  // Keys are sorted, and only this one begins its line.
  const empty = `\n${key}: []\n`;
  const [top = "", end = ""] = toYaml({ ...head, [key]: [] }).split(empty);
  return [`${top}\n${key}:\n`, "", end, (element) => toYaml([element])];
}

function jsonOf(head: LongList["head"], key: string, pretty: boolean): Layout {
  if (!pretty)
    return [`${JSON.stringify(head).slice(0, -1)},"${key}":[`, ",", "]}\n", (element) => JSON.stringify(element)];
  const top = `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "${key}": [\n    `;
  const indented = (element: object) => JSON.stringify(element, null, 2).replaceAll("\n", "\n    ");
  return [top, ",\n    ", "\n  ]\n}", indented];
}
