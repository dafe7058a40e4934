import { isSuccess, refusal } from "../staging/client-go/rest/answers.js";
import type { KubeClient } from "../staging/client-go/rest/client.js";
import { identityInWords } from "../staging/client-go/rest/identity.js";

/**
 * Creates an object in a collection, unless one with its name exists.
 * @throws LabError FORBIDDEN, REFUSED
 */
export async function createUnlessThere(
  client: KubeClient,
  path: string,
  body: object,
  signal: AbortSignal,
): Promise<void> {
  const answer = await client.request({ method: "POST", path, body, signal });
  const isThere = answer.status === 409;
  if (!isThere && !isSuccess(answer)) throw refusal(answer, `POST ${path}`, identityInWords(client.config));
}
