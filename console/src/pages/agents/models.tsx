import { useQuery } from "urql";
import { problemOf } from "../../data/problem";
import { Badge, Card, compact, cx, Empty, ErrorNote, money, Scrolling, Skeleton } from "../../ui";
import table from "../../ui/table.module.css";
import { MODELS } from "./documents";

/** The models that this deployment knows, and whether agents may use them. */
export function Models() {
  const [{ data, error }] = useQuery({ query: MODELS });
  if (error) return <ErrorNote title="The models can't be read" problem={problemOf(error)} />;
  if (!data) return <Skeleton />;
  if (data.models.length === 0) return <Empty title="No models">No agent names one yet.</Empty>;
  return (
    <Card flush>
      <Scrolling label="Models">
        <table className={table.table}>
          <thead>
            <tr>
              <th>Model</th>
              <th>Allowed</th>
              <th className={table.number}>Context</th>
              <th className={table.number}>Longest answer</th>
              <th className={table.number}>In, a million</th>
              <th className={table.number}>Out, a million</th>
            </tr>
          </thead>
          <tbody>
            {data.models.map((model) => (
              <tr key={model.id}>
                <td>{model.id}</td>
                <td>
                  <Badge tone={model.allowed ? "green" : "neutral"}>
                    {model.allowed ? "Yes" : "No"}
                  </Badge>
                </td>
                <td className={cx(table.number)}>
                  {model.contextTokens === null ? "–" : compact(model.contextTokens)}
                </td>
                <td className={table.number}>
                  {model.maxOutputTokens === null ? "–" : compact(model.maxOutputTokens)}
                </td>
                <td className={table.number}>{money(model.inputPrice)}</td>
                <td className={table.number}>{money(model.outputPrice)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </Card>
  );
}
