import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.BinaryDocValuesField;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.LongPoint;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.SortedDocValuesField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.facet.FacetResult;
import org.apache.lucene.facet.FacetsCollector;
import org.apache.lucene.facet.LabelAndValue;
import org.apache.lucene.facet.StringDocValuesReaderState;
import org.apache.lucene.facet.StringValueFacetCounts;
import org.apache.lucene.index.BinaryDocValues;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.ReaderUtil;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.FuzzyQuery;
import org.apache.lucene.search.IndexOrDocValuesQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.MatchAllDocsQuery;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.SortField;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.WildcardQuery;
import org.apache.lucene.store.MMapDirectory;
import org.apache.lucene.util.BytesRef;

/**
 * Runs tasks of luceneutil for bench/peers (tasks_lucene.go has the other end of the protocol).
 *
 * <p>Arguments: a folder for the index, a file of documents. Each line of the file is a document, of values that
 * tabs separate: id, tokens, the fields NUMBERS, the fields KEYWORDS. Then each line of standard input is a command:
 *
 * <ul>
 *   <li>"task" and 11 values (see {@link #parse}): makes the query, runs it for WARM_UP_NANOS and answers with the
 *       number of matches.
 *   <li>"run": runs it once, and answers with the nanoseconds that it took, the ids of the hits, and the values of
 *       the facet with their counts.
 * </ul>
 */
public final class LuceneTasks {
  private static final String[] NUMBERS = {"lastmod", "day", "seconds"};
  private static final String[] KEYWORDS = {"title", "month", "date", "day_text", "label", "part"};
  private static final long WARM_UP_NANOS = 300_000_000L;
  private static final int HITS = 10;
  private static final String TEXT = "contents";

  private final IndexSearcher searcher;

  private Query query;
  private Sort sort;
  private String facet;
  private boolean count;
  private boolean everything;
  private StringDocValuesReaderState facetState;

  private LuceneTasks(IndexSearcher searcher) {
    this.searcher = searcher;
  }

  public static void main(String[] args) throws IOException {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    try (MMapDirectory dir = new MMapDirectory(Path.of(args[0]))) {
      build(dir, Path.of(args[1]));
      try (DirectoryReader reader = DirectoryReader.open(dir)) {
        LuceneTasks tasks = new LuceneTasks(new IndexSearcher(reader));
        out.println("ready\t" + reader.numDocs());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
          String[] v = line.split("\t", -1);
          if (v[0].equals("task")) {
            tasks.parse(v);
            out.println(tasks.prepare());
          } else {
            out.println(tasks.run());
          }
        }
      }
    }
  }

  private static void build(MMapDirectory dir, Path documents) throws IOException {
    WhitespaceAnalyzer analyzer = new WhitespaceAnalyzer(IndexWriter.MAX_TERM_LENGTH);
    try (IndexWriter writer = new IndexWriter(dir, new IndexWriterConfig(analyzer));
        BufferedReader in = Files.newBufferedReader(documents)) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        String[] v = line.split("\t", -1);
        Document d = new Document();
        d.add(new BinaryDocValuesField("id", new BytesRef(v[0])));
        d.add(new TextField(TEXT, v[1], Field.Store.NO));
        int at = 2;
        for (String name : NUMBERS) {
          long n = Long.parseLong(v[at++]);
          d.add(new LongPoint(name, n));
          d.add(new NumericDocValuesField(name, n));
        }
        for (String name : KEYWORDS) {
          String value = v[at++];
          if (!value.isEmpty()) {
            d.add(new SortedDocValuesField(name, new BytesRef(value)));
            d.add(new StringField(name, value, Field.Store.NO));
          }
        }
        writer.addDocument(d);
      }
      writer.forceMerge(1);
    }
  }

  /**
   * Values after "task": kind (words, phrase, prefix, wildcard, fuzzy, range, every), text, all, edits, filter, within,
   * sort, desc, facet, count. Ranges are a field and two numbers, with spaces between them; booleans are "1" or "".
   */
  private void parse(String[] v) throws IOException {
    query = query(v[1], v[2], !v[3].isEmpty(), v[4]);
    everything = v[1].equals("every");
    Query filter = null;
    if (!v[5].isEmpty()) {
      filter = new TermQuery(new Term("part", v[5]));
    }
    if (!v[6].isEmpty()) {
      filter = range(v[6]);
    }
    if (filter != null) {
      query = new BooleanQuery.Builder().add(query, Occur.MUST).add(filter, Occur.FILTER).build();
    }
    sort = null;
    if (!v[7].isEmpty()) {
      boolean number = v[7].equals("lastmod") || v[7].equals("day");
      sort = new Sort(new SortField(v[7], number ? SortField.Type.LONG : SortField.Type.STRING, !v[8].isEmpty()));
    }
    facet = v[9].isEmpty() ? null : v[9];
    facetState = facet == null ? null : new StringDocValuesReaderState(searcher.getIndexReader(), facet);
    count = !v[10].isEmpty();
  }

  private static Query query(String kind, String text, boolean all, String edits) {
    switch (kind) {
      case "every":
        return new MatchAllDocsQuery();
      case "phrase":
        return new PhraseQuery(TEXT, text.split(" "));
      case "prefix":
        return new PrefixQuery(new Term(TEXT, text));
      case "wildcard":
        return new WildcardQuery(new Term(TEXT, text));
      case "fuzzy":
        return new FuzzyQuery(new Term(TEXT, text), Integer.parseInt(edits), 0, IndexSearcher.getMaxClauseCount(), true);
      case "range":
        return range(text);
      default:
        String[] words = text.split(" ");
        if (words.length == 1) {
          return new TermQuery(new Term(TEXT, words[0]));
        }
        BooleanQuery.Builder b = new BooleanQuery.Builder();
        for (String word : words) {
          b.add(new TermQuery(new Term(TEXT, word)), all ? Occur.MUST : Occur.SHOULD);
        }
        return b.build();
    }
  }

  private static Query range(String text) {
    String[] v = text.split(" ");
    long lo = Long.parseLong(v[1]);
    long hi = Long.parseLong(v[2]);
    return new IndexOrDocValuesQuery(
        LongPoint.newRangeQuery(v[0], lo, hi), NumericDocValuesField.newSlowRangeQuery(v[0], lo, hi));
  }

  private long prepare() throws IOException {
    for (long began = System.nanoTime(); System.nanoTime() - began < WARM_UP_NANOS; ) {
      run();
    }
    return searcher.count(query);
  }

  private String run() throws IOException {
    StringBuilder ids = new StringBuilder();
    StringBuilder values = new StringBuilder();
    long began = System.nanoTime();
    if (count) {
      searcher.count(query);
    } else {
      TopDocs top = null;
      FacetsCollector collector = facet == null ? null : new FacetsCollector();
      if (everything && facet != null) {
        collector = null; // counts of all documents
      } else if (facet != null) {
        top = FacetsCollector.search(searcher, query, HITS, collector);
      } else if (sort != null) {
        top = searcher.search(query, HITS, sort);
      } else {
        top = searcher.search(query, HITS);
      }
      if (top != null) {
        appendIDs(ids, top);
      }
      if (facet != null) {
        appendFacet(values, collector);
      }
    }
    return (System.nanoTime() - began) + "\t" + ids + "\t" + values;
  }

  private void appendFacet(StringBuilder out, FacetsCollector collector) throws IOException {
    StringValueFacetCounts counts =
        collector == null
            ? new StringValueFacetCounts(facetState)
            : new StringValueFacetCounts(facetState, collector);
    FacetResult found = counts.getTopChildren(HITS, facet);
    if (found == null) {
      return;
    }
    for (LabelAndValue v : found.labelValues) {
      out.append(out.length() == 0 ? "" : " ").append(v.label).append('=').append(v.value.longValue());
    }
  }

  private void appendIDs(StringBuilder out, TopDocs top) throws IOException {
    for (ScoreDoc hit : top.scoreDocs) {
      LeafReaderContext leaf = searcher.getLeafContexts().get(ReaderUtil.subIndex(hit.doc, searcher.getLeafContexts()));
      BinaryDocValues id = leaf.reader().getBinaryDocValues("id");
      id.advanceExact(hit.doc - leaf.docBase);
      out.append(out.length() == 0 ? "" : " ").append(id.binaryValue().utf8ToString());
    }
  }
}
