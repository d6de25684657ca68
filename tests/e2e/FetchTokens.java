// Gets the tokens of the user who has the ticket, as Azkaban's HadoopShell does for its steps: one of
// the ResourceManager and those of the HDFS, which the ResourceManager may renew.
//
//   java FetchTokens.java FILE
//
// The class path has Hadoop's jars and the folder of its configuration.
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.Token;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.util.ConverterUtils;

public final class FetchTokens {
  public static void main(final String[] arguments) throws Exception {
    final YarnConfiguration configuration = new YarnConfiguration();
    UserGroupInformation.setConfiguration(configuration);
    final String renewer =
        SecurityUtil.getServerPrincipal(
            configuration.get(YarnConfiguration.RM_PRINCIPAL), "localhost");
    final Credentials credentials = new Credentials();
    FileSystem.get(configuration).addDelegationTokens(renewer, credentials);
    final YarnClient yarn = YarnClient.createYarnClient();
    yarn.init(configuration);
    yarn.start();
    final Token token = yarn.getRMDelegationToken(new Text(renewer));
    final Text service = ClientRMProxy.getRMDelegationTokenService(configuration);
    credentials.addToken(service, ConverterUtils.convertFromYarn(token, service));
    credentials.writeTokenStorageFile(new Path("file:" + arguments[0]), configuration);
    yarn.stop();
  }
}
