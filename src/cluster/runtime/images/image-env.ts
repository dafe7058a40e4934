import type { ImageDefinition } from "./definition.js";

/** The variables of an image. One of them can hold the release that its tag names: `redis:6.2-alpine` is Redis 6.2.14. */
export function imageEnv({ env, release }: ImageDefinition, tag = ""): Readonly<Record<string, string>> {
  const asked = /^\d+(?:\.\d+)*/.exec(tag)?.[0];
  if (release === undefined || asked === undefined) return env;
  const { variable, versions } = release;
  const isPart = (whole: string, part: string) => `${whole}.`.startsWith(`${part}.`);
  const version =
    versions.findLast((one) => isPart(one, asked)) ?? versions.findLast((one) => isPart(asked, one)) ?? asked;
  return { ...env, [variable]: version };
}
