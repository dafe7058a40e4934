import type { ImageDefinition } from "../../cluster/runtime/images/definition.js";
import { REGISTRY_IMAGES } from "../../cluster/runtime/images/registry.js";
import { alignedLines } from "../../trace/terminal/table.js";
import { asItIs } from "../../trace/translated.js";
import type { Say } from "../../util/i18n/sentences.js";
import { wrap } from "../../util/text/text-width.js";
import type { CommandResult } from "../cli/context.js";

const RULES = [
  "1.7..1.29 are the versions in between, also with a patch number and a suffix: 1.25.3, 1.25-alpine. k8s.gcr.io has what registry.k8s.io has.",
  "Any other image or tag fails with ErrImagePull, as at a real registry, and a host that is not in this list has no address. With `--images any` it runs, as a placeholder.",
];

/** The columns before an image's description. */
const INDENT = 12;

/**
 * The images of the embedded registry: name and tags, then what each does and its other names, which are not wrapped so
 * that they can be copied.
 */
export function listImages(width: number, say: Say = asItIs): CommandResult {
  const images = REGISTRY_IMAGES.flatMap((image) => {
    const name = wrap(`${shortName(image.repositories[0])}: ${image.tags.join(", ")}`, width - INDENT);
    const [first = "", ...more] = [...name, ...detailsOf(image, width, say)];
    return [[sizeOf(image), first], ...more.map((line) => ["", line])];
  });
  const rules = RULES.flatMap((rule) => wrap(say(rule), width));
  return {
    text: [...alignedLines([["SIZE", "IMAGE: TAGS"].map(say), ...images]), "", ...rules].join("\n"),
    json: REGISTRY_IMAGES.map(({ repositories, tags, sizeBytes, about, login }) => ({
      name: shortName(repositories[0]),
      repositories,
      tags,
      sizeBytes,
      about,
      ...(login === undefined ? {} : { login }),
    })),
  };
}

function detailsOf({ about, repositories, login }: ImageDefinition, width: number, say: Say): string[] {
  const more = repositories.slice(1).map(shortName);
  const also = more.length === 0 ? "" : `; also as ${more.join(", ")}`;
  const who = login === undefined ? "" : `; login: ${login.username} ${login.password ?? "(any password)"}`;
  return wrap(`${say(about)}${say(who)}${say(also)}`, width - INDENT).map((line) => `  ${line}`);
}

/** As in a pod's spec: `nginx` for `docker.io/library/nginx`. */
export function shortName(repository = ""): string {
  return repository.replace(/^docker\.io\/(library\/)?/, "");
}

function sizeOf({ sizeBytes }: ImageDefinition): string {
  return sizeBytes < 100_000 ? `${(sizeBytes / 1_000).toFixed(1)} kB` : `${(sizeBytes / 1_000_000).toFixed(1)} MB`;
}
