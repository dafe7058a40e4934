import { defined } from "../../../util/defined.js";
import { PodCache } from "../../container/cache.js";
import { MirrorClient } from "../../pod/mirror-client.js";
import { PodManager } from "../../pod/pod-manager.js";
import { StatusManager } from "../../status/manager.js";
import { PodDeletionSafety } from "../../sync/deletion-safety.js";
import { PodDirs } from "../../sync/pod-dirs.js";
import { PodObjectManagers } from "../../util/manager/pod-objects.js";
import { TokenManager } from "../../volumes/token-manager.js";
import { VolumeManager } from "../../volumes/volume-manager.js";
import type { Later } from "./inputs.js";
import type { WithSources } from "./sources.js";

export type WithPods = WithSources & ReturnType<typeof newPods>;

/** API objects that pods need, and pods as desired and as reported. */
export function newPods({ ctx, deps, recording, options, allocatable }: WithSources, later: Later) {
  const objectManagers = new PodObjectManagers(ctx);
  const tokens = new TokenManager(ctx);
  const podDirs = new PodDirs(options.rootDir);
  const volumes = new VolumeManager(
    { ...recording, ...objectManagers, client: ctx.client, tokens, allocatable },
    { rootDir: options.rootDir, hostPaths: options.machine.hostPaths },
  );
  const podManager = new PodManager();
  const mirrorClient = new MirrorClient({ ...ctx, ...defined({ parts: deps.hooks?.mirrorPods }) }, options.nodeName);
  const podCache = new PodCache({ onWait: () => later.pleg().relistSoon() });
  const podDeletionSafety = new PodDeletionSafety({ ...ctx, podWorkers: later.podWorkers, volumes });
  const statusManager = new StatusManager({ ...ctx, podManager, podDeletionSafety }, options);
  const objects = { objectManagers, tokens, podDirs, volumes };
  return { ...objects, podManager, mirrorClient, podCache, podDeletionSafety, statusManager };
}
