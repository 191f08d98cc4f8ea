import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.opensearch.Version;
import org.opensearch.analysis.common.CommonAnalysisModulePlugin;
import org.opensearch.common.settings.Settings;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.Plugin;
import org.opensearch.plugins.PluginInfo;
import org.opensearch.transport.Netty4ModulePlugin;

/** One OpenSearch node as a process of its own, which can be killed alone. Arguments are its settings, as key=value. */
public final class SearchNode extends Node {
    private static final String NEEDED_JAVA = "21";

    private SearchNode(Settings settings) {
        super(
            InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), (Path) null, () -> settings.get("node.name")),
            List.of(describe(Netty4ModulePlugin.class), describe(CommonAnalysisModulePlugin.class)),
            true);
    }

    private static PluginInfo describe(Class<? extends Plugin> plugin) {
        String name = plugin.getName();
        return new PluginInfo(name, "on the class path", "NA", Version.CURRENT, NEEDED_JAVA, name, null, List.of(), false);
    }

    public static void main(String[] arguments) throws Exception {
        Settings.Builder settings = Settings.builder();
        for (String argument : arguments) {
            int separator = argument.indexOf('=');
            settings.put(argument.substring(0, separator), argument.substring(separator + 1));
        }
        SearchNode node = new SearchNode(settings.build());
        CountDownLatch stopped = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
            } catch (Exception error) {
                error.printStackTrace();
            }
            stopped.countDown();
        }));
        node.start();
        stopped.await();
    }
}
