// Calls each operation with the client that NSwag generates, and reads a problem. Prints the id of each operation.
using System.Net.Http.Headers;
using Tributary;

var http = new HttpClient();
http.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", args[1]);
var client = new TributaryClient(http) { BaseUrl = args[0] };
string Key() => Guid.NewGuid().ToString();
void Print(string id, bool isRead) => Console.WriteLine(isRead ? id : $"{id} is not read");

Print("getConnection", (await client.GetConnectionAsync()).Granted_scopes.Count > 0);
var found = await client.SearchProductsAsync(q: "mug", facets: [Facet.Category, Facet.Stock], limit: 1);
Print("searchProducts", found.Data.Count == 1 && found.As_of.Position > 0);
var target = new Target2 { Kind = Target2Kind.Product, Ref = "MUG-1" };
var link = await client.CreateLinkAsync(Key(), new CreateLinkInput { Target = target });
Print("createLink", link.Short_url != null);
var lines = new List<object> { new { sku = "MUG-1", quantity = 4 } };
var handoff = await client.CreateHandoffAsync(Key(), new CreateHandoffInput { Title = "Mugs", Line_items = lines });
Print("createHandoff", handoff.Review_url != null);
var company = new Company2 { Name = "Shop", Country = "GB" };
var lead = await client.SubmitLeadAsync(Key(), new SubmitLeadInput { External_id = Key(), Company = company });
Print("submitLead", lead.State == LeadState.Submitted);
Print("listLeads", (await client.ListLeadsAsync(limit: 5)).Data.Count > 0);
var report = await client.GetPerformanceAsync(granularity: Granularity.Week, group_by: [Dimension.Campaign]);
Print("getPerformance", report.As_of.Position > 0);
try
{
    await client.CreateLinkAsync(Key(), new CreateLinkInput { Target = new Target2 { Ref = "NONE" } });
}
catch (ApiException<Problem> refused)
{
    Print("problem", refused.Result.Code == ProblemCode.Link_target_invalid);
}
