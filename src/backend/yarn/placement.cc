// Builds the same messages as Hadoop's PlacementConstraintToProtoConverter.
#include "backend/yarn/placement.h"

#include <limits>

namespace tony::backend {
namespace {

namespace yarn = ::hadoop::yarn;

using Kind = jobfile::PlacementConstraint::Kind;

constexpr char kNodePartition[] = "yarn_node_partition/";
constexpr int kNoNumber = -1;

yarn::SimplePlacementConstraintProto* MakeSimple(const std::string& scope, int minimum, int maximum,
                                                 yarn::NodeAttributeOpCodeProto comparison,
                                                 yarn::PlacementConstraintProto* constraint) {
  yarn::SimplePlacementConstraintProto* const simple = constraint->mutable_simpleconstraint();
  simple->set_scope(scope);
  simple->set_mincardinality(minimum);
  simple->set_maxcardinality(maximum);
  simple->set_attributeopcode(comparison);
  return simple;
}

yarn::PlacementConstraintTargetProto* AddTarget(
    yarn::PlacementConstraintTargetProto::TargetType type, const std::string& key,
    yarn::SimplePlacementConstraintProto* simple) {
  yarn::PlacementConstraintTargetProto* const target = simple->add_targetexpressions();
  target->set_targettype(type);
  target->set_targetkey(key);
  return target;
}

}  // namespace

yarn::PlacementConstraintProto ConstraintOf(const jobfile::PlacementConstraint& constraint) {
  yarn::PlacementConstraintProto message;
  switch (constraint.kind) {
    case Kind::kTags: {
      auto* const simple = MakeSimple(constraint.scope, constraint.minimum, constraint.maximum,
                                      yarn::NO_OP, &message);
      for (const auto& tag : constraint.tags) {
        AddTarget(yarn::PlacementConstraintTargetProto::ALLOCATION_TAG, tag.owner, simple)
            ->add_targetvalues(tag.name);
      }
      break;
    }
    case Kind::kAttribute: {
      auto* const simple = MakeSimple("node", kNoNumber, kNoNumber,
                                      constraint.equal ? yarn::EQ : yarn::NE, &message);
      auto* const target = AddTarget(yarn::PlacementConstraintTargetProto::NODE_ATTRIBUTE,
                                     constraint.attribute, simple);
      for (const std::string& value : constraint.values) target->add_targetvalues(value);
      break;
    }
    case Kind::kAnd:
    case Kind::kOr: {
      auto* const composite = message.mutable_compositeconstraint();
      composite->set_compositetype(constraint.kind == Kind::kAnd
                                       ? yarn::CompositePlacementConstraintProto::AND
                                       : yarn::CompositePlacementConstraintProto::OR);
      for (const auto& part : constraint.parts) {
        *composite->add_childconstraints() = ConstraintOf(part);
      }
      break;
    }
  }
  return message;
}

void AddLabel(const std::string& label, yarn::PlacementConstraintProto* constraint) {
  // A label alone needs a simple constraint to carry it.
  if (!constraint->has_simpleconstraint()) {
    MakeSimple("node", 1, std::numeric_limits<int>::max(), yarn::NO_OP, constraint);
  }
  AddTarget(yarn::PlacementConstraintTargetProto::NODE_ATTRIBUTE, kNodePartition,
            constraint->mutable_simpleconstraint())
      ->add_targetvalues(label);
}

}  // namespace tony::backend
