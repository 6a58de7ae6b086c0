/** What a child can be. Loaded when asked for: the start-up that is measured loads only its own. */
export const ROLES: Record<string, () => Promise<unknown>> = {
  write: async () => (await import('./write.ts')).writeServer,
  read: async () => (await import('./read.ts')).readServer,
  bytes: async () => (await import('./read.ts')).bytesServer,
  redirect: async () => (await import('./redirect.ts')).redirectServer,
  makeLog: async () => (await import('./million.ts')).logMaker,
  makeViews: async () => (await import('./million.ts')).viewsMaker,
  rebuild: async () => (await import('./rebuild.ts')).rebuildOnce,
  fold: async () => (await import('./rebuild.ts')).foldOnce,
  sqlite: async () => (await import('./rebuild.ts')).sqliteOnce,
  visible: async () => (await import('./visible.ts')).visibility,
  service: async () => (await import('./ready.ts')).readyServer,
  a2a: async () => (await import('./a2a.ts')).a2aServer,
  mcp: async () => (await import('./mcp.ts')).mcpServer,
  mcpSdk: async () => (await import('./mcp.ts')).sdkServer,
  search: async () => (await import('./search.ts')).searchServer,
};
