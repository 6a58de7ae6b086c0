/** How what agents depend on changes, and how it ends: the policy of every interface. */
export const VERSIONING = [
  'Within v1 things are added and nothing is taken away: operations, tools, skills, optional fields, ' +
    'members of answers, values and problem codes may come. A client passes over what it does not know.',
  'What would break a client comes as another major: a path of its own (/v2) over REST, a new name ' +
    'for a tool or a skill. The one before goes on for at least 12 months.',
  'An operation that is to end is marked `deprecated` in OpenAPI and named in CHANGELOG.md, and from ' +
    'then on, for at least 12 months, its answers carry Deprecation (RFC 9745), Sunset (RFC 8594) and ' +
    'a Link with rel="deprecation" to what takes its place. A tool or a skill says so in its ' +
    'description. None is deprecated now.',
  'Deprecation and Sunset without that Link are about the key that asked, never about the operation: ' +
    'it was rotated, or expires soon. getConnection tells its status and expires_at.',
  'A version of MCP or A2A is spoken for at least 12 months after its successor came.',
] as const;
