// Connects with the official C# client of MCP in each era. Prints what it read, one line each.
using ModelContextProtocol.Client;
using ModelContextProtocol.Protocol;

var version = args.ElementAtOrDefault(2);
var transport = new HttpClientTransport(new()
{
    Endpoint = new Uri($"{args[0]}/api/affiliate/mcp"),
    TransportMode = HttpTransportMode.StreamableHttp,
    AdditionalHeaders = new Dictionary<string, string> { ["Authorization"] = $"Bearer {args[1]}" },
});
await using var client = await McpClient.CreateAsync(transport, new() { ProtocolVersion = version });
Console.WriteLine($"version {client.NegotiatedProtocolVersion}");

foreach (var tool in await client.ListToolsAsync()) Console.WriteLine($"tool {tool.Name}");
var found = await client.CallToolAsync("search_products", new Dictionary<string, object?> { ["q"] = "mug", ["limit"] = 1 });
Console.WriteLine($"title {found.StructuredContent?.GetProperty("data")[0].GetProperty("title").GetString()}");
var line = new Dictionary<string, object?> { ["sku"] = "MUG-1", ["quantity"] = 4, ["note"] = null };
var handoff = await client.CallToolAsync("create_handoff", new Dictionary<string, object?>
{
    ["title"] = "Mugs", ["line_items"] = new[] { line }, ["idempotency_key"] = Guid.NewGuid().ToString(),
});
Console.WriteLine($"handoff {handoff.StructuredContent?.GetProperty("status").GetString()}");
var refused = await client.CallToolAsync("search_products", new Dictionary<string, object?> { ["limit"] = "many" });
Console.WriteLine($"refused {refused.IsError}");

foreach (var prompt in await client.ListPromptsAsync()) Console.WriteLine($"prompt {prompt.Name}");
var resources = await client.ListResourcesAsync();
foreach (var resource in resources)
    if ((await client.ReadResourceAsync(resource.Uri)).Contents.Count != 1) Console.WriteLine($"unread {resource.Uri}");
Console.WriteLine($"resources {resources.Count > 0}");
