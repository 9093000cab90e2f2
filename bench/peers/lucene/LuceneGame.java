import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LogDocMergePolicy;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopScoreDocCollector;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.MMapDirectory;

/**
 * Runs the commands of search-benchmark-game for bench/peers (game_lucene.go has the other end of the protocol).
 *
 * <p>Arguments: a folder for the index, a file of documents: the tokens of one on each line. Each line of standard
 * input is a command and a query, with a tab between them. The answer has the count (1 for TOP_K) and the
 * nanoseconds that the query took, from its text on. The answer to DOCS_K has the numbers of the best K documents.
 */
public final class LuceneGame {
  private static final String TEXT = "contents";
  private static final BM25Similarity SIMILARITY = new BM25Similarity(0.9f, 0.4f);

  private final IndexSearcher searcher;

  private LuceneGame(IndexSearcher searcher) {
    this.searcher = searcher;
    searcher.setQueryCache(null);
    searcher.setSimilarity(SIMILARITY);
  }

  public static void main(String[] args) throws IOException {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    try (MMapDirectory dir = new MMapDirectory(Path.of(args[0]))) {
      build(dir, Path.of(args[1]));
      try (DirectoryReader reader = DirectoryReader.open(dir)) {
        LuceneGame game = new LuceneGame(new IndexSearcher(reader));
        out.println("ready\t" + reader.numDocs());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
          String[] v = line.split("\t");
          if (v[0].startsWith("DOCS_")) {
            out.println(game.documents(v[1], Integer.parseInt(v[0].substring(5))));
            continue;
          }
          String[] command = v[0].split("_");
          int k = command.length > 1 ? Integer.parseInt(command[1]) : 0;
          String last = command[command.length - 1];
          long began = System.nanoTime();
          int count = game.run(v[1], k, last.equals("COUNT"), last.equals("TWICE"));
          out.println(count + "\t" + (System.nanoTime() - began));
        }
      }
    }
  }

  private static void build(MMapDirectory dir, Path documents) throws IOException {
    IndexWriterConfig config = new IndexWriterConfig(new WhitespaceAnalyzer(IndexWriter.MAX_TERM_LENGTH));
    config.setSimilarity(SIMILARITY);
    config.setMergePolicy(new LogDocMergePolicy()); // keeps the order of the documents
    config.setRAMBufferSizeMB(512);
    try (IndexWriter writer = new IndexWriter(dir, config);
        BufferedReader in = Files.newBufferedReader(documents)) {
      Document d = new Document();
      TextField text = new TextField(TEXT, "", Field.Store.NO);
      d.add(text);
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        text.setStringValue(line);
        writer.addDocument(d);
      }
      writer.forceMerge(1);
    }
  }

  private int run(String text, int k, boolean counts, boolean twice) throws IOException {
    Query query = parse(text);
    if (k == 0) {
      return searcher.count(query);
    }
    TopScoreDocCollector collector = TopScoreDocCollector.create(k, counts ? Integer.MAX_VALUE : k);
    searcher.search(query, collector);
    collector.topDocs();
    if (counts) {
      return collector.getTotalHits();
    }
    return twice ? searcher.count(query) : 1;
  }

  private String documents(String text, int k) throws IOException {
    StringBuilder out = new StringBuilder();
    for (ScoreDoc hit : searcher.search(parse(text), k).scoreDocs) {
      out.append(out.length() == 0 ? "" : " ").append(hit.doc);
    }
    return out.toString();
  }

  /** The query's words and phrases, each with + or - or nothing before it. */
  private static Query parse(String text) {
    BooleanQuery.Builder all = new BooleanQuery.Builder();
    Query only = null;
    int clauses = 0;
    for (int i = 0; i < text.length(); clauses++) {
      while (text.charAt(i) == ' ') {
        i++;
      }
      Occur occur = Occur.SHOULD;
      if (text.charAt(i) == '+' || text.charAt(i) == '-') {
        occur = text.charAt(i++) == '+' ? Occur.MUST : Occur.MUST_NOT;
      }
      boolean phrase = text.charAt(i) == '"';
      int end = text.indexOf(phrase ? '"' : ' ', i + 1);
      end = end < 0 ? text.length() : end;
      only = phrase ? phrase(text.substring(i + 1, end)) : new TermQuery(new Term(TEXT, text.substring(i, end)));
      all.add(only, occur);
      i = phrase ? end + 1 : end;
    }
    return clauses == 1 ? only : all.build();
  }

  private static Query phrase(String text) {
    List<String> words = new ArrayList<>();
    for (int from = 0; from < text.length(); ) {
      int end = text.indexOf(' ', from);
      end = end < 0 ? text.length() : end;
      words.add(text.substring(from, end));
      from = end + 1;
    }
    return words.size() == 1 ? new TermQuery(new Term(TEXT, words.get(0))) : new PhraseQuery(TEXT, words.toArray(new String[0]));
  }
}
