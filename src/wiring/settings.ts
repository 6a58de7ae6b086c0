import { unresolvedFault } from '#src/delivery/addresses.ts';
import type { AppDeps } from '#src/registries/app.ts';
import { approvalLimits } from '#src/shared/approval-limits.ts';
import type { Config } from '#src/config.ts';

/** The settings that operations read. Throws StartupError for amounts that are not valid. */
export const settingsOf = (
  config: Config,
): Pick<AppDeps, 'limits' | 'targetFault' | 'staffMail' | 'approvalAbove'> => {
  const privateHosts = new Set(config.outreachPrivateHosts);
  return {
    limits: config,
    targetFault: (url) => unresolvedFault(url, privateHosts),
    staffMail: config.staffMail,
    approvalAbove: config.approvalAbove && approvalLimits(config.approvalAbove),
  };
};
