import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { humanDuration } from "../../../staging/apimachinery/duration.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";

/** Texts of `describe`: lines whose columns a tab ends. Mirrors staging/src/k8s.io/kubectl/pkg/describe/describe.go. */

type Labels = Readonly<Record<string, string>> | null | undefined;

/** A longer annotation begins on a line of its own, and ends there. */
const MAX_ANNOTATION_LENGTH = 140;

/** `Fri, 27 Nov 2026 17:06:31 +0000`: RFC 1123. */
export function timeText(time: string | null | undefined): string {
  return time ? new Date(time).toUTCString().replace("GMT", "+0000") : "<unset>";
}

/** `5m`; `<unknown>` for an unset time. Mirrors translateTimestampSince. */
export function ageText(time: string | null | undefined, nowMs: number): string {
  return time ? humanDuration(nowMs - Date.parse(time)) : "<unknown>";
}

/** One pair per line. Mirrors printLabelsMultilineWithIndent. */
export function labelsLines(title: string, labels: Labels, indent = "", separator = "="): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}${separator}${value}`);
  return listLines(title, pairs.sort(), indent);
}

/** One text per line, below one title. */
export function listLines(title: string, texts: readonly string[], indent = ""): string {
  if (texts.length === 0) return `${indent}${title}:\t<none>\n`;
  return texts.map((text, i) => `${indent}${i === 0 ? `${title}:` : ""}\t${text}\n`).join("");
}

/** Mirrors printAnnotationsMultiline. */
export function annotationsLines(annotations: Labels): string {
  const shown = Object.entries(annotations ?? {})
    .filter(([key]) => key !== "kubectl.kubernetes.io/last-applied-configuration")
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => {
      const isLong = value.includes("\n") || key.length + value.length + 2 > MAX_ANNOTATION_LENGTH;
      if (!isLong) return `${key}: ${value}`;
      const lines = value
        .split("\n")
        .map((line) =>
          line.length > MAX_ANNOTATION_LENGTH - 2 ? `${line.slice(0, MAX_ANNOTATION_LENGTH - 2)}...` : line,
        );
      return [`${key}:`, ...lines.map((line) => `  ${line}`)].join("\n\t");
    });
  return listLines("Annotations", shown);
}

/** `Deployment/web`. Mirrors printController. */
export function controllerText({ ownerReferences }: Wire<V1ObjectMeta>): string {
  const owner = ownerReferences?.find(({ controller }) => controller === true);
  return owner === undefined ? "" : `Controlled By:\t${owner.kind}/${owner.name}\n`;
}

/** Rows with tabs below an underlined head. @param dashes if upstream's are not as long as the titles */
export function tableLines(
  head: readonly string[],
  rows: readonly (readonly unknown[])[],
  dashes: readonly string[] = head.map((title) => "-".repeat(title.length)),
): string {
  return [head, dashes, ...rows].map((cells) => `  ${cells.join("\t")}\n`).join("");
}

/** Name, namespace, labels and annotations, which most descriptions begin with. */
export function metadataLines({ metadata }: KubeObject): string {
  return (
    `Name:\t${metadata.name}\n${metadata.namespace === undefined ? "" : `Namespace:\t${metadata.namespace}\n`}` +
    labelsLines("Labels", metadata.labels) +
    annotationsLines(metadata.annotations)
  );
}
