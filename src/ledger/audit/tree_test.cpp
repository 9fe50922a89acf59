#include "ledger/audit/tree.h"

#include <bit>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace callgate::ledger {
namespace {

/// The definition of RFC 6962, section 2.1, word by word.
Sha256Digest defined_root(base::Sha256& hasher, std::span<const Sha256Digest> leaves) {
    if (leaves.empty()) return base::sha256({});
    if (leaves.size() == 1) return leaves[0];
    const std::size_t k = std::bit_floor(leaves.size() - 1);
    return node_hash(hasher, defined_root(hasher, leaves.first(k)), defined_root(hasher, leaves.subspan(k)));
}

TEST(AuditTree, HasTheRootsOfCertificateTransparency) {
    const char* const inputs[] = {
        "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"};
    const char* const roots[] = {"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                                 "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                                 "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                                 "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                                 "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                                 "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                                 "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                                 "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};
    base::Sha256 hasher;
    Frontier tree;
    EXPECT_EQ(base::to_hex(tree.root(hasher)),
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    for (std::size_t i = 0; i < std::size(inputs); ++i) {
        tree.push_leaf(hasher, base::sha256(std::string(1, '\0') + *base::hex_decode(inputs[i])));
        EXPECT_EQ(base::to_hex(tree.root(hasher)), roots[i]) << i + 1 << " leaves";
    }
}

TEST(AuditTree, GrowsLeafByLeafToTheRootOfAllLeaves) {
    base::Sha256 hasher;
    std::vector<Sha256Digest> leaves;
    Frontier tree;
    for (std::uint64_t i = 0; i < 600; ++i) {
        ASSERT_EQ(tree.root(hasher), defined_root(hasher, leaves)) << i;
        leaves.push_back(leaf_hash(hasher, base::sha256(std::to_string(i))));
        tree.push_leaf(hasher, leaves.back());
    }
    EXPECT_EQ(tree.size(), 600u);
}

TEST(AuditTree, TellsOfEveryCompletedSubtree) {
    base::Sha256 hasher;
    std::vector<Sha256Digest> leaves;
    Frontier tree;
    std::size_t told = 0;
    for (std::uint64_t i = 0; i < 300; ++i) {
        leaves.push_back(leaf_hash(hasher, base::sha256(std::to_string(i))));
        tree.push_leaf(hasher, leaves.back(), [&](const TreeNode& node) {
            ++told;
            const auto from = static_cast<std::size_t>(node.index << node.level);
            ASSERT_EQ(from + (std::size_t{1} << node.level), leaves.size());
            EXPECT_EQ(node.hash, defined_root(hasher, std::span(leaves).subspan(from)));
        });
    }
    EXPECT_EQ(told, 150u + 75 + 37 + 18 + 9 + 4 + 2 + 1);
}

TEST(AuditTree, TakesWholeSubtreesInsteadOfTheirLeaves) {
    base::Sha256 hasher;
    Frontier by_leaf;
    Frontier by_node;
    Frontier part;
    for (std::uint64_t i = 0; i < 100; ++i) {
        const auto leaf = leaf_hash(hasher, base::sha256(std::to_string(i)));
        by_leaf.push_leaf(hasher, leaf);
        if (i >= 96) {
            by_node.push_leaf(hasher, leaf);
            continue;
        }
        part.push_leaf(hasher, leaf, [&](const TreeNode& node) {
            if (node.level == 4) by_node.push_node(hasher, 4, node.hash);
        });
    }
    EXPECT_EQ(by_node, by_leaf);
    EXPECT_EQ(by_node.root(hasher), by_leaf.root(hasher));
    EXPECT_FALSE(by_node == part);
}

}  // namespace
}  // namespace callgate::ledger
