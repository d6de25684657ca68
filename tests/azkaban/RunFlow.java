// Runs a flow with Azkaban's own classes: its loaders of flows, its job types, its ProcessJob.
//
//   RunFlow PROJECT FLOW PLUGINS EXECUTION [NAME=VALUE…]
//
// PROJECT has the flow's files, PLUGINS the job types, EXECUTION is the working folder of all steps.
// The properties are those of the run, such as azkaban.flow.execid. What the step prints goes to
// stdout as "STEP| line", and each attempt ends with "= STEP ATTEMPT STATUS MILLISECONDS". The line
// "cancel" on stdin cancels the step that runs, as a user's click does. Exits with 0 if all steps
// have succeeded.
//
// The order of steps, retries and the properties of the run are the work of Azkaban's servers, which
// are published nowhere; so they are here.
import static azkaban.ServiceProvider.SERVICE_PROVIDER;

import azkaban.flow.Edge;
import azkaban.flow.Flow;
import azkaban.flow.Node;
import azkaban.jobExecutor.Job;
import azkaban.jobtype.JobTypeManager;
import azkaban.project.DirectoryFlowLoader;
import azkaban.project.DirectoryYamlFlowLoader;
import azkaban.project.FlowLoaderUtils;
import azkaban.project.Project;
import azkaban.utils.Props;
import com.google.inject.Guice;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.log4j.ConsoleAppender;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.PatternLayout;

public final class RunFlow {
  private final File project;
  private final File execution;
  private final JobTypeManager types;
  private final Props run = new Props();
  private final Map<String, Props> outputs = new HashMap<>();
  private final Map<String, Boolean> succeeded = new HashMap<>();
  private volatile Job current;
  private volatile boolean canceled;

  private RunFlow(final String[] arguments) {
    this.project = new File(arguments[0]);
    this.execution = new File(arguments[3]);
    this.types =
        new JobTypeManager(arguments[2], new Props(), RunFlow.class.getClassLoader());
    for (int i = 4; i < arguments.length; ++i) {
      final String[] pair = arguments[i].split("=", 2);
      this.run.put(pair[0], pair[1]);
    }
  }

  public static void main(final String[] arguments) throws Exception {
    Logger.getRootLogger().addAppender(new ConsoleAppender(new PatternLayout("%m%n"), "System.err"));
    Logger.getRootLogger().setLevel(Level.WARN);
    SERVICE_PROVIDER.setInjector(Guice.createInjector());
    final RunFlow runner = new RunFlow(arguments);
    runner.listen();
    // Azkaban's threads do not end by themselves.
    System.exit(runner.runFlow(arguments[1]) ? 0 : 1);
  }

  /** Cancels at a line of stdin; its end means nothing. */
  private void listen() {
    final Thread listener =
        new Thread(
            () -> {
              try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                  this.canceled = true;
                  final long began = System.currentTimeMillis();
                  this.current.cancel();
                  System.out.println("= cancel " + (System.currentTimeMillis() - began));
                }
              } catch (final Exception e) {
                System.out.println("= cancel failed: " + e);
              }
            });
    listener.setDaemon(true);
    listener.start();
  }

  private boolean runFlow(final String name) throws Exception {
    final File yaml = new File(this.project, name + ".flow");
    final Flow flow;
    final Map<String, Props> own = new HashMap<>();
    final Props shared = new Props();
    if (yaml.exists()) {
      final DirectoryYamlFlowLoader loader = new DirectoryYamlFlowLoader(new Props());
      loader.loadProjectFlow(new Project(1, "p"), this.project);
      check(loader.getErrors().toString(), loader.getErrors().isEmpty());
      flow = loader.getFlowMap().get(name);
      // The loader leaves the edges beside the flow.
      for (final Edge edge : loader.getEdgeMap().get(name)) {
        flow.addEdge(edge);
      }
      shared.putAll(FlowLoaderUtils.getPropsFromYamlFile(name, yaml));
      for (final Node node : flow.getNodes()) {
        own.put(
            node.getId(), FlowLoaderUtils.getPropsFromYamlFile(name + ":" + node.getId(), yaml));
      }
    } else {
      final DirectoryFlowLoader loader = new DirectoryFlowLoader(new Props());
      loader.loadProjectFlow(new Project(1, "p"), this.project);
      check(loader.getErrors().toString(), loader.getErrors().isEmpty());
      flow = loader.getFlowMap().get(name);
      for (final Props file : loader.getPropsList()) {
        shared.putAll(file);
      }
      for (final Node node : flow.getNodes()) {
        own.put(node.getId(), loader.getJobPropsMap().get(node.getId()));
      }
    }
    flow.initialize();
    final List<Node> order = new ArrayList<>(flow.getNodes());
    order.sort(Comparator.comparingInt(Node::getLevel).thenComparing(Node::getId));
    boolean good = true;
    for (final Node node : order) {
      good &= runStep(flow, node, shared, own.get(node.getId()));
    }
    return good;
  }

  private boolean runStep(final Flow flow, final Node node, final Props shared, final Props own)
      throws Exception {
    final String id = node.getId();
    final Props props = new Props();
    props.putAll(shared);
    boolean ready = true;
    for (final Edge edge : flow.getInEdges(id) == null ? List.<Edge>of() : flow.getInEdges(id)) {
      ready &= this.succeeded.getOrDefault(edge.getSourceId(), false);
      final Props before = this.outputs.get(edge.getSourceId());
      if (before != null) {
        props.putAll(before);
      }
    }
    this.succeeded.put(id, false);
    if (!ready || this.canceled) {
      System.out.println("= " + id + " 0 CANCELLED 0");
      return false;
    }
    props.putAll(own);
    final int retries = props.getInt("retries", 0);
    for (int attempt = 0; attempt <= retries && !this.canceled; ++attempt) {
      if (runAttempt(flow, id, attempt, props)) {
        this.succeeded.put(id, true);
        return true;
      }
    }
    return false;
  }

  private boolean runAttempt(
      final Flow flow, final String id, final int attempt, final Props flowAndJob) {
    final Props props = new Props();
    props.putAll(flowAndJob);
    props.put("azkaban.flow.flowid", flow.getId());
    props.put("azkaban.job.id", id);
    props.put("azkaban.job.attempt", attempt);
    props.put("working.dir", this.execution.getAbsolutePath());
    props.put("azkaban.memory.check", "false");
    props.putAll(this.run);
    final Logger log = Logger.getLogger("step." + id + "." + attempt);
    log.setAdditivity(false);
    log.setLevel(Level.INFO);
    log.addAppender(new ConsoleAppender(new PatternLayout(id + "| %m%n")));
    final long began = System.currentTimeMillis();
    String status = "SUCCEEDED";
    try {
      this.current = this.types.buildJobExecutor(id, props, log);
      this.current.run();
      final Props generated = this.current.getJobGeneratedProperties();
      if (generated != null) {
        this.outputs.put(id, generated);
      }
    } catch (final Exception e) {
      status = this.canceled ? "KILLED" : "FAILED " + e.getMessage();
    }
    final long took = System.currentTimeMillis() - began;
    System.out.println("= " + id + " " + attempt + " " + status + " " + took);
    return status.equals("SUCCEEDED");
  }

  private static void check(final String message, final boolean good) {
    if (!good) {
      throw new IllegalArgumentException(message);
    }
  }
}
