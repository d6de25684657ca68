// What Hadoop makes of placement constraints: for each argument a line, the message in base64.
//
//   java -cp 'JARS/*' PrintConstraints.java CONSTRAINT…
import java.util.Base64;
import org.apache.hadoop.yarn.api.pb.PlacementConstraintToProtoConverter;
import org.apache.hadoop.yarn.api.resource.PlacementConstraint;
import org.apache.hadoop.yarn.util.constraint.PlacementConstraintParser;

public final class PrintConstraints {
  public static void main(String[] arguments) throws Exception {
    for (String text : arguments) {
      PlacementConstraint constraint = PlacementConstraintParser.parseExpression(text).build();
      byte[] message = new PlacementConstraintToProtoConverter(constraint).convert().toByteArray();
      System.out.println(Base64.getEncoder().encodeToString(message));
    }
  }
}
