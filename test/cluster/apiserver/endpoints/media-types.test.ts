import { describe, expect, test } from "vitest";
import {
  isPretty,
  negotiate,
  negotiateForError,
  OBJECT_TYPES,
  requireAcceptable,
} from "../../../../src/cluster/apiserver/endpoints/media-types.js";
import { StatusError } from "../../../../src/staging/apimachinery/errors.js";

const table: [accept: string | undefined, kind: "object" | "watch" | "review", want: string][] = [
  [undefined, "object", "application/json"],
  ["", "object", "application/json"],
  ["*/*", "object", "application/json"],
  ["application/json", "object", "application/json"],
  ["application/json; charset=utf-8", "object", "application/json"],
  ["application/json;stream=watch", "object", "application/json"],
  ["application/yaml", "object", "application/yaml"],
  ["application/json;q=0.5,application/yaml", "object", "application/yaml"],
  ["text/html,application/json", "object", "application/json"],
  ["text/html", "object", "406"],
  ["application/vnd.kubernetes.protobuf", "object", "application/vnd.kubernetes.protobuf"],
  ["application/vnd.kubernetes.protobuf", "watch", "application/json"],
  ["application/vnd.kubernetes.protobuf,application/json", "object", "application/json"],
  ["application/json;as=Table;v=v1;g=meta.k8s.io", "object", "application/json Table v1"],
  ["application/json;as=Table;v=v1beta1;g=meta.k8s.io", "object", "application/json Table v1beta1"],
  ["application/json;as=Table;v=v9;g=meta.k8s.io", "object", "406"],
  ["application/json;as=Table;v=v9;g=meta.k8s.io,application/json", "object", "application/json"],
  ["application/json;as=Nope;v=v1;g=meta.k8s.io", "object", "406"],
  [
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "object",
    "application/json PartialObjectMetadata v1",
  ],
  ["application/json;as=Table;v=v1;g=meta.k8s.io", "review", "406"],
  ["application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "review", "application/json"],
  ["application/yaml", "watch", "406"],
  ["application/json;stream=watch", "watch", "application/json"],
];

describe("Accept", () => {
  test.each(table)("%s for %s", (accept, kind, want) => {
    let seen: string;
    try {
      const { mediaType, as, asVersion } = negotiate(accept, kind);
      seen = as === "" ? mediaType : `${mediaType} ${as} ${asVersion}`;
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      seen = String(error.code);
    }
    expect(seen).toBe(want);
  });

  test("two refusals, two texts", () => {
    const types = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    expect(() => requireAcceptable("application/*", OBJECT_TYPES)).toThrow(
      `406: Not Acceptable\n\nAvailable representations: ${types}`,
    );
    expect(() => negotiate("application/json;as=Nope", "object")).toThrow(
      `only the following media types are accepted: ${types}`,
    );
    expect(() => requireAcceptable("application/json;as=Nope", OBJECT_TYPES)).not.toThrow();
  });

  test("an error is JSON when no accepted media type matches", () => {
    expect(negotiateForError("text/html").mediaType).toBe("application/json");
    expect(negotiateForError("application/json;as=Table;v=v1;g=meta.k8s.io").as).toBe("");
    expect(negotiateForError("application/yaml").mediaType).toBe("application/yaml");
  });
});

describe("indented JSON", () => {
  const rows: [query: string, agent: string | undefined, want: boolean][] = [
    ["", undefined, false],
    ["", "kubectl/v1.32", false],
    ["", "curl/8.0", true],
    ["", "Mozilla/5.0", true],
    ["pretty=true", "kubectl/v1.32", true],
    ["pretty=1", undefined, true],
    ["pretty=false", "curl/8.0", false],
    ["pretty=nonsense", "curl/8.0", false],
  ];
  test.each(rows)("?%s %s", (query, agent, want) => {
    expect(isPretty(new URLSearchParams(query), agent)).toBe(want);
  });
});
